"""Read a schema from any source, with the suitable reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stackmask.grammar.source.work import check_size, check_text, spend
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.schema import SHOWN, Schema, check_schema, schema_from_names

if TYPE_CHECKING:
    import sqlite3

_DIALECTS: Final = {"sqlite": "sqlite", "postgres": "postgres", "postgresql": "postgres"}
PARSING: Final = 6  # steps of work for a character of CREATE statements
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
# text that begins with a statement, after blanks and comments, and is not a file name
_STATEMENT = re.compile(
    r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*"
    r"(?:CREATE|ALTER|DROP|BEGIN|START|SET|PRAGMA|INSERT|COMMENT|COMMIT|GRANT|SELECT|WITH)(?:\s|\Z)",
    re.IGNORECASE | re.DOTALL,
)

# Any: SQLAlchemy's Engine, Connection and URL, which need not be installed
Source: TypeAlias = (
    "Schema | Mapping[Any, Iterable[str] | Mapping[str, str]] | sqlite3.Connection | Path | str | Any"
)


def read_schema(source: Source, dialect: str) -> Schema:
    """Read tables and columns from a database, from a description, or from the statements that create it.

    ``source`` is one of
        a Schema, which is checked;
        a dict {table: [columns]} or {table: {column: type}}, where a table may be (schema, table);
        a SQLite file (a Path, or a string that is neither a URL nor SQL) or an open sqlite3 connection;
        a database's URL (text with ``://``), or an Engine, Connection or URL of SQLAlchemy;
        text with CREATE statements, in the dialect.

    Raises: SQLError if the source cannot be read, is for another dialect or has no tables, or a name is
    impossible.
    Cost: one query per table for SQLite, one query for PostgreSQL; only the catalogue is read.
    """
    wanted = dialect_name(dialect)
    schema = _read(source, wanted)
    if schema.dialect is not None and dialect_name(schema.dialect) != wanted:
        raise SQLError(f"schema: it is one of {schema.dialect}, not of {wanted}")
    schema = replace(schema, dialect=wanted)
    check_schema(schema)
    _count(schema)
    return schema


def _count(schema: Schema) -> None:
    """Count the work of reading the names. Raises: BudgetError if the names exceed the input limit."""
    size = 0
    for table in schema.tables:
        size += len(table.name) + sum(4 + len(column.name) for column in table.columns)
        spend(20 + 12 * len(table.columns))
    check_size("the schema", size)


def dialect_name(dialect: str) -> str:
    """Return ``sqlite`` or ``postgres``. Raises: SQLError for anything else."""
    found = _DIALECTS.get(dialect.lower()) if isinstance(dialect, str) else None
    if found is None:
        raise SQLError(f"dialect: {dialect!r:.{SHOWN}} is not one of {', '.join(_DIALECTS)}")
    return found


def is_url(source: object) -> bool:
    """Return whether a source is the URL of a database."""
    return isinstance(source, str) and _URL.match(source) is not None


def is_ddl(source: str) -> bool:
    """Return whether a string is SQL rather than a file name: it begins with a statement, or has several lines."""
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

        check_text("the schema", source)
        spend(PARSING * len(source))
        return read_ddl(source, dialect)
    if isinstance(source, str | Path):
        from stackmask.grammar.sql.schema.inspect_sqlite import read_file

        return read_file(Path(source))
    import sqlite3

    if isinstance(source, sqlite3.Connection):
        from stackmask.grammar.sql.schema.inspect_sqlite import read_connection

        return read_connection(source)
    raise SQLError(
        f"schema: a {type(source).__name__} is not one of a dict, a sqlite3 file or connection, a URL, CREATE "
        f"statements, or an Engine or Connection of SQLAlchemy"
    )
