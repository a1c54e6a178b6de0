"""Read the tables of a database to which SQLAlchemy connects."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stackmask.grammar.sql.schema.ddl_postgres import SYSTEM_COLUMNS
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.schema import SHOWN, Column, Schema, Table
from stackmask.grammar.sql.schema.secrets import check_unambiguous, driver_words, shown_url

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

CONNECT_SECONDS: Final = 10
DRIVER: Final = "postgresql+psycopg"  # what the extra `sql` brings; SQLAlchemy's own default is another
DIALECTS: Final = {"postgresql": "postgres", "sqlite": "sqlite"}
SQLITE_FILE: Final = "sqlite:///"

# what may be read of whom: tables and views in schemas that may be used, columns with the right to SELECT
_POSTGRES = """
SELECT n.nspname, c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    AND has_column_privilege(c.oid, a.attnum, 'SELECT')
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND (n.oid = pg_my_temp_schema() OR (n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'))
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
ORDER BY n.nspname, c.oid, a.attnum
"""
# a key that may be checked late does not tell what depends on it
_POSTGRES_KEYS = """
SELECT n.nspname, c.relname, a.attname
FROM pg_constraint AS k
JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = ANY (k.conkey)
WHERE k.contype = 'p' AND NOT k.condeferrable
ORDER BY a.attnum
"""


def read_server(source: object) -> Schema:
    """Return the tables of an Engine, a Connection or a URL of SQLAlchemy.

    PostgreSQL: all tables that the role may read, in all schemas but the server's own; ``default_schemas`` is the
    search path. Other databases than PostgreSQL and SQLite: what SQLAlchemy's inspector finds.

    Raises: SQLError: no such database, no connection, no driver, or nothing to read.
    """
    if isinstance(source, str) and source.startswith(SQLITE_FILE):
        from stackmask.grammar.sql.schema.inspect_sqlite import read_file

        return read_file(sqlite_path(source))
    with connected(source) as connection:
        schema = read_connection(connection)
    if not schema.tables:
        raise SQLError("the database has no tables that may be read")
    return schema


def sqlite_path(url: str) -> Path:
    """Return the file of ``sqlite:///relative`` or ``sqlite:////absolute``. Raises: SQLError."""
    rest = url[len(SQLITE_FILE) :]
    if not url.startswith(SQLITE_FILE) or not rest or "?" in rest:
        raise SQLError("the URL sqlite:… names no file: sqlite:///relative/path or sqlite:////absolute/path")
    return Path(rest)


def make_engine(url: str | URL, **options: Any) -> Engine:
    """Create an engine without a connection pool; ``options`` go to the driver.

    Raises: SQLError if the URL is invalid, its scheme is unknown, or its driver is not installed. No message
    shows a password.
    """
    with _alchemy():
        import sqlalchemy
        from sqlalchemy.exc import ArgumentError
    parsed = None
    with contextlib.suppress(ArgumentError, ValueError):  # they quote the URL
        parsed = sqlalchemy.make_url(url)
    if parsed is None:
        scheme = str(url).partition("://")[0]
        raise SQLError(f"the URL {scheme:.{SHOWN}}://… cannot be read: scheme://user:password@host/database")
    if isinstance(url, str):
        check_unambiguous(url, parsed)
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername=DRIVER)
    if parsed.drivername == DRIVER:
        options.setdefault("connect_timeout", CONNECT_SECONDS)
    made = _try_engine(parsed, options)
    if isinstance(made, str):
        raise SQLError(made)
    return made


def _try_engine(url: URL, options: dict[str, Any]) -> Engine | str:
    """Return an engine, or the reason why there is none: a string, since errors keep the driver's message."""
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    from sqlalchemy.pool import NullPool

    try:
        return sqlalchemy.create_engine(url, poolclass=NullPool, connect_args=options)
    except NoSuchModuleError:
        return (
            f"no database is known under {url.drivername}://; there are postgresql://, sqlite:///, and what "
            f"SQLAlchemy has dialects for"
        )
    except ModuleNotFoundError as error:
        extra = " (pip install 'stackmask[sql]')" if error.name == "psycopg" else ""
        return f"{url.drivername}:// needs {error.name}, which is not installed{extra}"
    except (ImportError, TypeError, ValueError, ArgumentError) as error:
        return f"{url.drivername}:// cannot be used: {driver_words(first_line(error), url)}"


@contextlib.contextmanager
def connected(source: object, **options: Any) -> Iterator[Connection]:
    """Connect to a source. A Connection is used directly, and left open.

    Raises: SQLError with the database's message if the database is unreachable or refuses.
    """
    with _alchemy():
        import sqlalchemy
        from sqlalchemy.exc import SQLAlchemyError
    if isinstance(source, sqlalchemy.Connection):
        yield source
        return
    if isinstance(source, str | sqlalchemy.URL):
        source = make_engine(source, **options)
    if not isinstance(source, sqlalchemy.Engine):
        raise SQLError(f"schema: a {type(source).__name__} of SQLAlchemy is not an Engine, Connection or URL")
    failure = ""
    try:
        connection = source.connect()
    except (SQLAlchemyError, UnicodeError, ValueError, TypeError) as error:
        failure = driver_words(first_line(error), source.url)
    if failure:  # outside of the handler, so that the error keeps nothing of the driver's
        raise SQLError(f"cannot connect to {shown_url(source.url)}: {failure}")
    with connection:
        yield connection


def read_connection(connection: Connection) -> Schema:
    """Return the tables visible to a SQLAlchemy connection. Raises: SQLError."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        if connection.dialect.name == "sqlite":
            driver = connection.connection.driver_connection
            if not isinstance(driver, sqlite3.Connection):
                raise SQLError("only the driver of Python's own sqlite3 is read; asynchronous ones are not")
            from stackmask.grammar.sql.schema.inspect_sqlite import read_connection as read_sqlite

            return read_sqlite(driver)
        if connection.dialect.name == "postgresql":
            return _read_postgres(connection)
        return _inspect(connection)
    except SQLAlchemyError as error:
        raise SQLError(f"cannot read the tables of the database: {first_line(error)}") from None


def _read_postgres(connection: Connection) -> Schema:
    found: dict[tuple[str, str], tuple[str, list[Column]]] = {}
    for schema, name, kind, column, spelled in connection.exec_driver_sql(_POSTGRES):
        columns = found.setdefault((schema, name), (kind, []))[1]
        if column is not None:
            columns.append(Column(column, spelled))
    keys: dict[tuple[str, str], list[str]] = {}
    for schema, name, column in connection.exec_driver_sql(_POSTGRES_KEYS):
        keys.setdefault((schema, name), []).append(column)
    tables = []
    for (schema, name), (kind, columns) in found.items():
        key = keys.get((schema, name), [])
        known = set(key) <= {column.name for column in columns}  # else a part of it may not be read
        implicit = () if kind == "v" else SYSTEM_COLUMNS
        is_view = kind in ("v", "m")
        tables.append(Table(name, tuple(columns), schema, is_view, implicit, tuple(key) if known else ()))
    path = connection.exec_driver_sql("SELECT unnest(current_schemas(true))").scalars()
    return Schema("postgres", tuple(tables), tuple(name for name in path if name != "pg_catalog"))


def _inspect(connection: Connection) -> Schema:
    import sqlalchemy

    inspector: Any = sqlalchemy.inspect(connection)
    default = inspector.default_schema_name
    tables = []
    for is_view, names in ((False, inspector.get_table_names()), (True, inspector.get_view_names())):
        for name in names:
            columns = tuple(
                Column(str(column["name"]), _spelled(column["type"], connection))
                for column in inspector.get_columns(name)
            )
            tables.append(Table(str(name), columns, default, is_view))
    return Schema(None, tuple(tables), (default,) if default else ())


def _spelled(kind: Any, connection: Connection) -> str:
    from sqlalchemy.exc import CompileError

    try:
        return str(kind.compile(connection.dialect))
    except CompileError:  # a type that SQLAlchemy does not know
        return ""


@contextlib.contextmanager
def _alchemy() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise SQLError(
            "a database's URL needs SQLAlchemy, which is not installed: pip install 'stackmask[sql]'"
        ) from None


def first_line(error: BaseException) -> str:
    """Return a driver's message in one line, without SQLAlchemy's frame, hints and repetitions."""
    text = str(getattr(error, "orig", None) or error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:  # psycopg tries several addresses, and says so in a line of its own
        if line.startswith("Multiple connection attempts"):
            break
        return line
    last = [line for line in lines if line.startswith("- ")]
    return (last or lines or [type(error).__name__])[0].removeprefix("- ")
