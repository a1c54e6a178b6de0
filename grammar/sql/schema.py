"""What a database holds: tables, views and their columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackmask.grammar.sql.errors import SQLError


@dataclass(frozen=True, slots=True)
class Column:
    """A column; ``type`` as the database spells it, which may be nothing."""

    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view. ``implicit``: names that may be used, but are not in ``*``, such as ``rowid``."""

    name: str
    columns: tuple[Column, ...]
    schema: str | None = None
    is_view: bool = False
    implicit: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a database. ``default_schemas``: those searched for names without a schema."""

    dialect: str | None
    tables: tuple[Table, ...]
    default_schemas: tuple[str, ...] = ()


def read_schema(source: Any, dialect: str) -> Schema:
    """Return the schema of a mapping (table to columns) or of an SQLite database (file or connection).

    Raises: SQLError if it is none of these, or cannot be read.
    """
    if isinstance(source, Schema):
        return source
    if isinstance(source, Mapping):
        return Schema(
            dialect,
            tuple(
                Table(
                    name,
                    tuple(
                        Column(c, columns[c]) if isinstance(columns, Mapping) else Column(c) for c in columns
                    ),
                )
                for name, columns in source.items()
            ),
        )
    if isinstance(source, str | Path):
        if not Path(source).is_file():
            raise SQLError(f"schema: there is no file {str(source)!r:.200}")
        connection = sqlite3.connect(f"{Path(source).absolute().as_uri()}?mode=ro", uri=True)
        try:
            return read_schema(connection, dialect)
        finally:
            connection.close()
    if not isinstance(source, sqlite3.Connection):
        raise SQLError(f"schema: {type(source).__name__} is no database, mapping or file")
    try:
        listed = source.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ).fetchall()
        return Schema(
            dialect,
            tuple(
                Table(
                    name,
                    tuple(
                        Column(row[1], row[2])
                        for row in source.execute("SELECT * FROM pragma_table_info(?)", (name,))
                    ),
                    is_view=kind == "view",
                )
                for name, kind in listed
            ),
        )
    except sqlite3.Error as error:
        raise SQLError(f"schema: {error}") from error
