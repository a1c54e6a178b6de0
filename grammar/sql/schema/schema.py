"""The representation of a schema as tables and columns, with checks of names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Final

from stackmask.grammar.sql.schema.errors import SQLError

MAX_TABLES: Final = 100_000  # beyond it something else than a schema was given
SHOWN: Final = 60  # characters of a name or a source in a message
_FOLD: Final = {ord(upper): ord(upper.lower()) for upper in ascii_uppercase}


@dataclass(frozen=True, slots=True)
class Column:
    """A column. ``type`` is spelled as in the database, and may be empty."""

    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view with its columns, in the order of ``*``.

    ``implicit``: names that can be used but are not in ``*``: ``rowid`` and hidden columns in SQLite,
    ``ctid`` and the like in PostgreSQL. ``schema`` is None if the source has no schemas. ``key``: the columns
    of the primary key, if it was read from a PostgreSQL server; after GROUP BY of these, all columns of the
    table may be used.
    """

    name: str
    columns: tuple[Column, ...]
    schema: str | None = None
    is_view: bool = False
    implicit: tuple[str, ...] = ()
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a database. ``default_schemas``: the search path for names without a schema."""

    dialect: str | None
    tables: tuple[Table, ...]
    default_schemas: tuple[str, ...] = ()


def schema_from_names(names: Mapping[Any, Iterable[str] | Mapping[str, str]], dialect: str) -> Schema:
    """Create a schema from {table: [columns]} or {table: {column: type}}; a table may be (schema, table).

    Raises: SQLError.
    """
    tables = []
    for key, given in names.items():
        schema, name = key if isinstance(key, tuple) and len(key) == 2 else (None, key)
        if not isinstance(name, str) or not (schema is None or isinstance(schema, str)):
            raise SQLError(f"schema: {key!r:.{SHOWN}} is not the name of a table")
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
    """Refuse names that are impossible in the dialect: non-strings and duplicates.

    Raises: SQLError. SQLite ignores the case of ASCII letters in names; PostgreSQL compares exactly.
    """
    if not schema.tables:
        raise SQLError("schema: there are no tables")
    if len(schema.tables) > MAX_TABLES:
        raise SQLError(f"schema: {len(schema.tables):,} tables are more than {MAX_TABLES:,}")
    sqlite = schema.dialect == "sqlite"
    same: Callable[[str], str] = fold if sqlite else str
    seen: set[tuple[str | None, str]] = set()
    for table in schema.tables:
        _check_name(table.name, "a table", sqlite)
        if table.schema is not None:
            _check_name(table.schema, "a schema", sqlite)
        where = f"table {table.name!r:.{SHOWN}}"
        key = (table.schema and same(table.schema), same(table.name))
        if key in seen:
            raise SQLError(f"schema: {where} is there twice")
        seen.add(key)
        columns: set[str] = set()
        for name, kind in [(c.name, c.type) for c in table.columns] + [(name, "") for name in table.implicit]:
            _check_name(name, f"a column of {where}", sqlite)
            if not isinstance(kind, str):
                raise SQLError(
                    f"schema: {where}: the type of {name!r:.{SHOWN}} is not text: {kind!r:.{SHOWN}}"
                )
            if same(name) in columns:
                raise SQLError(f"schema: {where} has the column {name!r:.{SHOWN}} twice")
            columns.add(same(name))
        if sqlite and not table.columns:
            raise SQLError(f"schema: {where} has no columns")


def fold(name: str) -> str:
    """Return the name in the form for comparison, which ignores the case of ASCII letters."""
    return name.translate(_FOLD)


def _check_name(name: object, what: str, sqlite: bool) -> None:
    if not isinstance(name, str):
        raise SQLError(f"schema: the name of {what} is not text: {name!r:.{SHOWN}}")
    if not name and not sqlite:
        raise SQLError(f"schema: the name of {what} is empty")
    if "\0" in name:
        raise SQLError(f"schema: the name of {what} has a NUL character: {name!r:.{SHOWN}}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SQLError(f"schema: the name of {what} is not Unicode text: {name!r:.{SHOWN}}") from None
