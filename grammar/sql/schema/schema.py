"""Tables and columns: what a schema is, and which reader a source needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stackmask.grammar.sql.errors import SQLError

if TYPE_CHECKING:
    import sqlite3

MAX_TABLES: Final = 100_000  # beyond it something else than a schema was given
SHOWN: Final = 60  # characters of a name or a source in a message

_DIALECTS: Final = {"sqlite": "sqlite", "postgres": "postgres", "postgresql": "postgres"}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
# text that begins with a statement, after blanks and comments, and is no file name
_STATEMENT = re.compile(
    r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*"
    r"(?:CREATE|ALTER|DROP|BEGIN|START|SET|PRAGMA|INSERT|COMMENT|COMMIT|GRANT|SELECT|WITH)(?:\s|\Z)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column. ``type`` is as the database spells it, and may be empty."""

    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view and its columns, in the order of ``*``.

    ``implicit``: names that can be used but are not in ``*``: ``rowid`` and hidden columns in SQLite, ``ctid`` and
    the like in PostgreSQL. ``schema`` is None where the source has no schemas. ``key``: the columns of the primary key, as
    far as a PostgreSQL server was asked; behind GROUP BY of these all columns of the table may be used.
    """

    name: str
    columns: tuple[Column, ...]
    schema: str | None = None
    is_view: bool = False
    implicit: tuple[str, ...] = ()
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a database. ``default_schemas``: where names without a schema are looked up, the first first."""

    dialect: str | None
    tables: tuple[Table, ...]
    default_schemas: tuple[str, ...] = ()


# Any: SQLAlchemy's Engine, Connection and URL, which need not be installed
Source: TypeAlias = (
    "Schema | Mapping[Any, Iterable[str] | Mapping[str, str]] | sqlite3.Connection | Path | str | Any"
)


def read_schema(source: Source, dialect: str) -> Schema:
    """Read the tables and columns of a database, of a description, or of the statements that make it.

    ``source`` is one of
        a Schema, which is checked;
        a dict {table: [columns]} or {table: {column: type}}, where (schema, table) may stand for a table;
        a SQLite file (a Path, or a text that is no URL and no SQL) or an open sqlite3 connection;
        a database's URL (text with ``://``), or an Engine, Connection or URL of SQLAlchemy;
        text with CREATE statements, in the dialect.

    Raises: SQLError: the source cannot be read or is for another dialect, it has no tables, or a name cannot be.
    Cost: one query per table for SQLite, one query for PostgreSQL; nothing but the catalogue is read.
    """
    wanted = dialect_name(dialect)
    schema = _read(source, wanted)
    if schema.dialect is not None and dialect_name(schema.dialect) != wanted:
        raise SQLError(f"schema: it is one of {schema.dialect}, not of {wanted}")
    schema = replace(schema, dialect=wanted)
    check_schema(schema)
    return schema


def dialect_name(dialect: str) -> str:
    """Return ``sqlite`` or ``postgres``. Raises: SQLError for anything else."""
    found = _DIALECTS.get(dialect.lower()) if isinstance(dialect, str) else None
    if found is None:
        raise SQLError(f"dialect: {dialect!r:.{SHOWN}} is none of {', '.join(_DIALECTS)}")
    return found


def is_url(source: object) -> bool:
    """Say whether a source is the URL of a database."""
    return isinstance(source, str) and _URL.match(source) is not None


def is_ddl(source: str) -> bool:
    """Say whether a text is SQL rather than a file name: it begins with a statement, or has several lines."""
    return _STATEMENT.match(source) is not None or "\n" in source or source.rstrip().endswith(";")


def _read(source: Source, dialect: str) -> Schema:
    if isinstance(source, Schema):
        return source
    if isinstance(source, Mapping):
        return schema_from_names(source, dialect)
    if isinstance(source, str) and not source.strip():
        raise SQLError("schema: the text is empty; give a file, a URL or CREATE statements")
    if is_url(source) or type(source).__module__.partition(".")[0] == "sqlalchemy":
        from stackmask.grammar.sql.schema.inspect_server import read_server

        return read_server(source)
    if isinstance(source, str) and is_ddl(source):
        from stackmask.grammar.sql.schema.ddl import read_ddl

        return read_ddl(source, dialect)
    if isinstance(source, str | Path):
        from stackmask.grammar.sql.schema.inspect_sqlite import read_file

        return read_file(Path(source))
    import sqlite3

    if isinstance(source, sqlite3.Connection):
        from stackmask.grammar.sql.schema.inspect_sqlite import read_connection

        return read_connection(source)
    raise SQLError(
        f"schema: a {type(source).__name__} is none of a dict, a sqlite3 file or connection, a URL, CREATE "
        f"statements, or an Engine or Connection of SQLAlchemy"
    )


def schema_from_names(names: Mapping[Any, Iterable[str] | Mapping[str, str]], dialect: str) -> Schema:
    """Make a schema of {table: [columns]} or {table: {column: type}}; a table may be (schema, table).

    Raises: SQLError.
    """
    tables = []
    for key, given in names.items():
        schema, name = key if isinstance(key, tuple) and len(key) == 2 else (None, key)
        if not isinstance(name, str) or not (schema is None or isinstance(schema, str)):
            raise SQLError(f"schema: {key!r:.{SHOWN}} is no name of a table")
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise SQLError(
                f"schema: table {name!r:.{SHOWN}} needs a list of columns, or a dict of their types"
            )
        if isinstance(given, Mapping):
            columns = tuple(Column(column, kind or "") for column, kind in given.items())
        else:
            columns = tuple(Column(column) for column in given)
        tables.append(Table(name, columns, schema))
    schemas = tuple(dict.fromkeys(table.schema for table in tables if table.schema is not None))
    return Schema(dialect, tuple(tables), schemas)


def check_schema(schema: Schema) -> None:
    """Refuse what no database of the dialect holds: names that are no text, or that stand twice.

    Raises: SQLError. SQLite tells names apart without regard to the case of ASCII letters, PostgreSQL as they are.
    """
    if not schema.tables:
        raise SQLError("schema: there are no tables")
    if len(schema.tables) > MAX_TABLES:
        raise SQLError(f"schema: {len(schema.tables):,} tables are more than {MAX_TABLES:,}")
    sqlite = schema.dialect == "sqlite"
    seen: set[tuple[str | None, str]] = set()
    for table in schema.tables:
        _check_name(table.name, "a table", sqlite)
        if table.schema is not None:
            _check_name(table.schema, "a schema", sqlite)
        where = f"table {table.name!r:.{SHOWN}}"
        key = (table.schema and fold(table.schema, sqlite), fold(table.name, sqlite))
        if key in seen:
            raise SQLError(f"schema: {where} is there twice")
        seen.add(key)
        columns: set[str] = set()
        for name, kind in [(c.name, c.type) for c in table.columns] + [(name, "") for name in table.implicit]:
            _check_name(name, f"a column of {where}", sqlite)
            if not isinstance(kind, str):
                raise SQLError(
                    f"schema: {where}: the type of {name!r:.{SHOWN}} is no text: {kind!r:.{SHOWN}}"
                )
            if fold(name, sqlite) in columns:
                raise SQLError(f"schema: {where} has the column {name!r:.{SHOWN}} twice")
            columns.add(fold(name, sqlite))
        if sqlite and not table.columns:
            raise SQLError(f"schema: {where} has no columns")


def fold(name: str, sqlite: bool) -> str:
    """Return what two spellings of one name have in common: in SQLite the case of ASCII letters does not count."""
    if not sqlite:
        return name
    return name.lower() if name.isascii() else "".join(c.lower() if c.isascii() else c for c in name)


def _check_name(name: object, what: str, sqlite: bool) -> None:
    if not isinstance(name, str):
        raise SQLError(f"schema: the name of {what} is no text: {name!r:.{SHOWN}}")
    if not name and not sqlite:
        raise SQLError(f"schema: the name of {what} is empty")
    if "\0" in name:
        raise SQLError(f"schema: the name of {what} has a NUL character: {name!r:.{SHOWN}}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SQLError(f"schema: the name of {what} is no Unicode text: {name!r:.{SHOWN}}") from None
