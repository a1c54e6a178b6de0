"""Read the tables of a SQLite database, as SQLite itself reports them."""

from __future__ import annotations

import contextlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.schema import Column, Schema, Table, fold
from stackmask.grammar.sql.schema.secrets import shown_file

ROWID: Final = ("rowid", "oid", "_rowid_")
OLDEST: Final = (3, 37, 0)  # `pragma_table_list`
NO_KEY: Final = "file is not a database"  # also what an encrypted file looks like
HIDDEN: Final = (
    1  # of table_xinfo: a hidden column of a virtual table; 2 and 3 are generated ones, which `*` has
)

_TABLES = """
SELECT l.schema, l.name, l.type, l.wr FROM pragma_table_list AS l JOIN pragma_database_list AS d ON d.name = l.schema
WHERE l.type IN ('table', 'view', 'virtual') AND lower(substr(l.name, 1, 7)) <> 'sqlite_'
"""


def open_file(path: Path) -> sqlite3.Connection:
    """Open a SQLite file for reading only.

    Raises: SQLError if there is no such file, it is not a database, or another process keeps it locked.
    """
    problem = "no such database"
    with contextlib.suppress(OSError, ValueError):  # a name that no file can have
        problem = "" if path.is_file() else "not a database file" if path.exists() else problem
    if problem:
        raise SQLError(f"{problem}: {shown_file(path)}")
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise SQLError(f"cannot open the database {path}: {error}") from None
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        hint = "; it is of another kind, or encrypted" if NO_KEY in str(error) else ""
        raise SQLError(f"cannot open the database {path}: {error}{hint}") from None
    return connection


def read_file(path: Path) -> Schema:
    """Return the tables of a SQLite file. Raises: SQLError."""
    with closing(open_file(path)) as connection:
        schema = read_connection(connection)
    if not schema.tables:
        raise SQLError(f"the database {path} has no tables")
    return schema


def read_connection(connection: sqlite3.Connection) -> Schema:
    """Return the tables and views visible to a connection, including attached databases.

    This excludes SQLite's own tables, shadow tables of virtual tables, and tables that SQLite itself cannot
    use: views of deleted tables, and virtual tables whose module is missing.

    Raises: SQLError if the catalogue cannot be read, or SQLite is older than 3.37.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        raise SQLError(f"SQLite {sqlite3.sqlite_version} is too old to list its tables; 3.37 is needed")
    try:
        cursor = connection.cursor()
    except sqlite3.Error as error:
        raise SQLError(f"cannot read the tables of the database: {error}") from None
    cursor.row_factory = None
    text_factory, connection.text_factory = connection.text_factory, str
    try:
        found = cursor.execute(_TABLES).fetchall()
        # temporary tables hide those of the file, and these hide the attached ones
        databases = [name for _, name, _ in cursor.execute("PRAGMA database_list")]
        databases.sort(key=lambda name: name != "temp")
        # in each the order in which they were made
        found.sort(key=lambda row: databases.index(row[0]))
        tables = [
            table for row in _in_order(cursor, found) if (table := _read_table(cursor, *row)) is not None
        ]
    except sqlite3.Error as error:
        raise SQLError(f"cannot read the tables of the database: {error}") from None
    finally:
        connection.text_factory = text_factory
        cursor.close()
    return Schema("sqlite", tuple(tables), tuple(databases))


def _in_order(
    cursor: sqlite3.Cursor, found: list[tuple[str, str, str, int]]
) -> list[tuple[str, str, str, int]]:
    """Sort tables in the order of creation, so that a model sees them in their author's order."""
    places: dict[tuple[str, str], int] = {}
    for database in dict.fromkeys(row[0] for row in found):
        master = "sqlite_temp_master" if database == "temp" else f"{quoted(database)}.sqlite_master"
        for place, (name,) in enumerate(
            cursor.execute(f"SELECT name FROM {master} ORDER BY rowid").fetchall()
        ):
            places[database, name] = place
    order = list(dict.fromkeys(row[0] for row in found))
    return sorted(found, key=lambda row: (order.index(row[0]), places.get((row[0], row[1]), len(places))))


def _read_table(
    cursor: sqlite3.Cursor, database: str, name: str, kind: str, without_rowid: int
) -> Table | None:
    try:
        rows = cursor.execute(
            "SELECT name, type, hidden FROM pragma_table_xinfo(?, ?) ORDER BY cid", (name, database)
        ).fetchall()
    except sqlite3.OperationalError:
        return None
    columns = tuple(Column(column, spelled or "") for column, spelled, hidden in rows if hidden != HIDDEN)
    if not columns:
        return None
    implicit = [column for column, _, hidden in rows if hidden == HIDDEN]
    if kind != "view" and not without_rowid:  # mutant: without-rowid
        taken = {fold(column) for column, _, _ in rows}
        implicit += [word for word in ROWID if word not in taken]
    return Table(name, columns, database, kind == "view", tuple(implicit))


def quoted(name: str) -> str:
    """Return a name in double quotes, as in both dialects."""
    return '"' + name.replace('"', '""') + '"'
