"""Run one query on a SQLite file, without any way to change it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stackmask.grammar.diagnostics import StackmaskError

STEPS_BETWEEN_CHECKS = 10_000  # virtual machine steps of SQLite; about a millisecond


class QueryError(StackmaskError):
    """A database that cannot be opened, or a query that SQLite refuses or that takes too long."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer to a query. ``more``: there are rows beyond those here."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool


def connect(path: Path) -> sqlite3.Connection:
    """Open a SQLite file for reading only.

    Raises: QueryError if there is no such file, or it is no SQLite database.
    """
    if not path.is_file():
        raise QueryError(f"no such database: {path}" if not path.exists() else f"not a database file: {path}")
    connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        raise QueryError(f"cannot open the database {path}: {error}") from None
    return connection


def read_schema(path: Path) -> str:
    """Return the statements that made the tables and views of a database."""
    with closing(connect(path)) as connection:
        found = connection.execute(
            "SELECT sql FROM sqlite_master WHERE type IN ('table', 'view') AND sql IS NOT NULL "
            "AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        )
        return "\n".join(f"{statement};" for (statement,) in found)


def run_query(path: Path, query: str, *, timeout: float, limit: int) -> Rows:
    """Run a query and fetch up to ``limit`` rows; ``timeout`` in seconds.

    Raises: QueryError with SQLite's own words.
    """
    with closing(connect(path)) as connection:
        deadline = time.monotonic() + timeout
        connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_BETWEEN_CHECKS)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        try:
            cursor = connection.execute(query)
            fetched = cursor.fetchmany(limit + 1)
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise QueryError(f"the query took longer than {timeout:g} s and was stopped") from None
            raise QueryError(f"SQLite: {error}") from None
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
            raise QueryError(f"SQLite: {error}") from None
        columns = [column[0] for column in cursor.description or ()]
    return Rows(columns, fetched[:limit], len(fetched) > limit)
