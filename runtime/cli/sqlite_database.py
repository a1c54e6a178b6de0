"""A SQLite file, opened so that no statement can change it or reach another one."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.inspect_sqlite import open_file, read_connection
from stackmask.runtime.cli.answers import fetch, too_much_memory, too_slow
from stackmask.runtime.cli.database import ANSWER_BYTES, Keys, QueryError, Reference, Rows, TableKey
from stackmask.runtime.cli.table_files import is_table_file, open_table_file

STEPS_BETWEEN_CHECKS: Final = 10_000  # virtual machine steps of SQLite; about a millisecond
LONGEST_VALUE: Final = 16 << 20  # bytes: one step of the machine can make a value, and no clock stops it
HEAP_BYTES: Final = 512 << 20  # of SQLite, in the whole process: sorting and temporary tables are in it
MOST_OF_A_PLAN: Final = 100_000  # lines
READING: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
UNSAFE: Final = frozenset({"load_extension", "fts3_tokenizer", "edit", "readfile", "writefile"})
DOUBLE_QUOTED_STRINGS: Final = 1013  # SQLITE_DBCONFIG_DQS_DML
TOO_LONG: Final = "string or blob too big"
REFUSED: Final = (
    "not authorized",
    "authorization denied",
    "prohibited",
    "attempt to write a readonly database",
)


class SQLiteDatabase:
    """Three locks, each of them enough: the file is open for reading, the connection is told so
    (``query_only``), and an authorizer lets statements do nothing but select, read and call harmless functions.
    """

    dialect = "sqlite"
    product = "SQLite"

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Open a file and read its schema; a file of one table is read into memory. Raises: SQLError."""
        self._clock = clock
        self._connection = open_table_file(path) if is_table_file(path) else open_file(path)
        try:
            # Python 3.12 and later; before, the grammar alone sees to this
            setconfig = getattr(self._connection, "setconfig", None)
            if setconfig is not None:
                setconfig(DOUBLE_QUOTED_STRINGS, False)
            # virtual tables connect when the schema is read: some of them prepare writes there, though they make none
            self.schema = read_connection(self._connection)
            if not self.schema.tables:
                raise SQLError(f"the database {path} has no tables")
            self._keys = self._read_keys()
        except BaseException:
            self._connection.close()
            raise
        self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
        if hasattr(self._connection, "setlimit"):  # Python 3.11
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        self._connection.execute(
            "PRAGMA temp_store = MEMORY"
        )  # what is sorted counts as memory, and fills no disk
        self._connection.set_authorizer(_authorize)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def keys(self) -> Keys:
        """Return the primary and foreign keys."""
        return self._keys

    def run(self, query: str, *, timeout: float, limit: int, size: int = ANSWER_BYTES) -> Rows:
        """Run one query; see :class:`Database`."""
        return Rows(*self._fetch(query, timeout, limit, size))

    def plan(self, query: str, *, timeout: float) -> list[str]:
        """Return SQLite's plan as an indented tree."""
        _, rows, _ = self._fetch(f"EXPLAIN QUERY PLAN {query}", timeout, MOST_OF_A_PLAN, ANSWER_BYTES)
        depths: dict[int, int] = {}
        lines = []
        for node, parent, _, detail in rows:
            depths[node] = depths.get(parent, -1) + 1
            lines.append("  " * depths[node] + str(detail))
        if not lines:
            raise QueryError("refused: this is no query, and has no plan")
        return lines

    def _fetch(
        self, query: str, timeout: float, limit: int, size: int
    ) -> tuple[list[str], list[Sequence[Any]], bool]:
        deadline = self._clock() + timeout
        self._connection.set_progress_handler(lambda: self._clock() > deadline, STEPS_BETWEEN_CHECKS)
        try:
            cursor = self._connection.execute(query)
            try:
                rows, more = fetch(cursor.fetchmany, limit, size)
                return [column[0] for column in cursor.description or ()], rows, more
            finally:
                cursor.close()
        except QueryError:
            raise
        except MemoryError:
            raise too_much_memory(HEAP_BYTES) from None
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError) as error:
            text = str(error)
            if text == "interrupted":
                raise too_slow(timeout) from None
            if any(words in text for words in REFUSED):
                raise QueryError(f"refused: this is more than reading the database ({text})") from None
            if text == TOO_LONG:
                text += f": no value may be longer than {LONGEST_VALUE >> 20:,} MiB; ask for a part of it, or its length"
            raise QueryError(f"SQLite: {text}") from None
        finally:
            self._connection.set_progress_handler(None, 0)

    def _read_keys(self) -> Keys:
        primary: dict[TableKey, tuple[str, ...]] = {}
        foreign: dict[TableKey, tuple[Reference, ...]] = {}
        execute = self._connection.execute
        for table in self.schema.tables:
            key, names = (table.schema, table.name), (table.name, table.schema)
            if table.is_view:
                continue
            found = execute("SELECT name FROM pragma_table_info(?, ?) WHERE pk > 0 ORDER BY pk", names)
            primary[key] = tuple(name for (name,) in found)
            references: dict[int, tuple[str, list[str]]] = {}
            listed = 'SELECT id, "table", "from" FROM pragma_foreign_key_list(?, ?) ORDER BY id, seq'
            for number, target, column in execute(listed, names):
                references.setdefault(number, (target, []))[1].append(column)
            foreign[key] = tuple(
                Reference(tuple(columns), (table.schema, target)) for target, columns in references.values()
            )
        return Keys(primary, foreign)


def limit_heap() -> None:
    """Bound the memory of SQLite in this process. A lower bound that is set already stays."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"PRAGMA hard_heap_limit = {HEAP_BYTES}")


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Allow what reads. ``PRAGMA data_version``, which reads a counter, is what full-text tables ask themselves."""
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = (first or "").lower() == "data_version" and second is None
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in UNSAFE
    else:
        allowed = action in READING
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
