"""A SQLite file, opened so that no statement can change it or access another file."""

from __future__ import annotations

import contextlib
import csv
import datetime
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.inspect_sqlite import open_file, quoted, read_connection
from stackmask.grammar.sql.schema.secrets import shown_file
from stackmask.runtime.cli.database import (
    ANSWER_BYTES,
    Keys,
    QueryError,
    Reference,
    Rows,
    TableKey,
    fetch,
    too_much_memory,
    too_slow,
)

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
    """Three guards, each sufficient by itself: the file is opened read-only, the connection is set to
    ``query_only``, and an authorizer lets statements do nothing but select, read and call harmless functions.
    """

    dialect = "sqlite"
    product = "SQLite"

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Open a file and read its schema; a file of one table is loaded into memory. Raises: SQLError."""
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
            raise QueryError("refused: this is not a query, and has no plan")
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
    """Bound the memory of SQLite in this process. A lower existing bound is kept."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"PRAGMA hard_heap_limit = {HEAP_BYTES}")


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Allow reading. ``PRAGMA data_version``, which reads a counter, is used internally by full-text tables."""
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = (first or "").lower() == "data_version" and second is None
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in UNSAFE
    else:
        allowed = action in READING
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


# CSV and Parquet files as tables: read into a SQLite database in memory, which no statement changes afterwards


ENDINGS: Final = (".csv", ".tsv", ".parquet")
MOST_BYTES: Final = 256 << 20  # of a file
MOST_ROWS: Final = 2_000_000
MOST_COLUMNS: Final = 1_000
LONGEST_CELL: Final = 1 << 20  # characters
SNIFFED: Final = 1 << 16  # characters that tell what separates the cells
ROWS_AT_ONCE: Final = 5_000

_INTEGER: Final = re.compile(
    r"[+-]?(?:0|[1-9][0-9]{0,17})"
)  # what 64 bits hold; 007 is not a number but a code
_REAL: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,3})?")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TYPES: Final = (("INTEGER", _INTEGER), ("REAL", _REAL), ("DATE", _DAY))
_MADE: Final[dict[str, Callable[[str], Any]]] = {"INTEGER": int, "REAL": float}


def is_table_file(path: Path) -> bool:
    """Return whether a path names a file that contains one table."""
    return path.suffix.lower() in ENDINGS


def open_table_file(path: Path) -> sqlite3.Connection:
    """Read a CSV or Parquet file into a new in-memory database; its table is named after the file.

    Raises: SQLError if the file is missing, too large, or cannot be read.
    """
    if not path.is_file():
        raise SQLError(f"no such file: {shown_file(path)}")
    if path.stat().st_size > MOST_BYTES:
        raise SQLError(
            f"{shown_file(path)} has more than {MOST_BYTES >> 20} MiB: put it into a database, and name that"
        )
    connection = sqlite3.connect(":memory:")
    try:
        if path.suffix.lower() == ".parquet":
            _load_parquet(connection, path)
        else:
            _load_csv(connection, path)
        connection.commit()
        connection.execute("PRAGMA query_only = ON")
    except MemoryError:
        connection.close()
        raise SQLError(
            f"{shown_file(path)} needs too much memory: put it into a database, and name that"
        ) from None
    except sqlite3.Error as error:
        connection.close()
        raise SQLError(f"cannot make a table of {shown_file(path)}: {error}") from None
    except BaseException:
        connection.close()
        raise
    return connection


# CSV ---------------------------------------------------------------------------------------------


def _load_csv(connection: sqlite3.Connection, path: Path) -> None:
    with _opened(path) as file:
        dialect = _dialect_of(file, path)
    with _rows(path, dialect) as rows:
        first = next(rows, None)
        if first is None:
            raise SQLError(f"{shown_file(path)} is empty")
        has_names = all(cell.strip() and not _REAL.fullmatch(cell.strip()) for cell in first)
        types = _column_types(rows if has_names else _before(first, rows), len(first), path)
    names = first if has_names else [""] * len(first)
    made = [_MADE.get(kind, str) for kind in types]

    def values(row: Sequence[str]) -> list[Any]:
        cells = [
            make(cell) if cell else None for make, cell in zip(made, map(_stripped, row, types), strict=False)
        ]
        return cells + [None] * (len(made) - len(cells))

    insert = _make_table(connection, path, names, types)
    with _rows(path, dialect) as rows:
        if has_names:
            next(rows)
        connection.executemany(insert, map(values, rows))


def _stripped(cell: str, kind: str) -> str:
    return cell if kind == "TEXT" else cell.strip()


def _before(first: list[str], rest: Iterator[list[str]]) -> Iterator[list[str]]:
    yield first
    yield from rest


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError:
        raise SQLError(f"{shown_file(path)} is not UTF-8: save it as UTF-8") from None
    except OSError as error:
        raise SQLError(f"cannot read {shown_file(path)}: {error.strerror or error}") from None


def _dialect_of(file: TextIO, path: Path) -> type[csv.Dialect]:
    """Return the CSV format: the separator is detected, quotes are doubled."""

    class Found(csv.excel):
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","

    if path.suffix.lower() == ".csv":
        line = file.read(SNIFFED).partition("\n")[0]
        counts = {mark: line.count(mark) for mark in ",;\t|"}
        Found.delimiter = max(counts, key=lambda mark: counts[mark])
    return Found


@contextmanager
def _rows(path: Path, dialect: type[csv.Dialect]) -> Iterator[Iterator[list[str]]]:
    """Read the non-empty rows, within the limits."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        with _opened(path) as file:
            reader = csv.reader(file, dialect, strict=True)

            def rows() -> Iterator[list[str]]:
                width = 0
                for number, row in enumerate(filter(None, reader)):
                    width = width or len(row)
                    if len(row) > width:
                        raise SQLError(
                            f"{shown_file(path)}, line {reader.line_num}: {len(row)} cells, where the first row has {width}"
                        )
                    if number > MOST_ROWS:
                        raise SQLError(
                            f"{shown_file(path)} has more than {MOST_ROWS:,} rows: put it into a database, and name that"
                        )
                    yield row

            try:
                yield rows()
            except csv.Error as error:
                raise SQLError(f"{shown_file(path)}, line {reader.line_num}: {error}") from None
    finally:
        csv.field_size_limit(before)


def _column_types(rows: Iterator[list[str]], width: int, path: Path) -> list[str]:
    """Return for each column the type of all its cells; empty cells have any type."""
    if width > MOST_COLUMNS:
        raise SQLError(f"{shown_file(path)} has {width:,} columns; at most {MOST_COLUMNS:,} are read")
    possible = [list(_TYPES) for _ in range(width)]
    filled = [False] * width
    for row in rows:
        for place, cell in enumerate(row):
            text = cell.strip()
            if text:
                filled[place] = True
                if possible[place]:
                    possible[place] = [kind for kind in possible[place] if kind[1].fullmatch(text)]
    return [found[0][0] if found and full else "TEXT" for found, full in zip(possible, filled, strict=True)]


# Parquet -----------------------------------------------------------------------------------------


def _load_parquet(connection: sqlite3.Connection, path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise SQLError("reading Parquet needs pyarrow, which is not installed: pip install pyarrow") from None
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # the others reserve more than the process may have
    try:
        with parquet.ParquetFile(path, memory_map=False) as file:
            if file.metadata.num_rows > MOST_ROWS:
                raise SQLError(
                    f"{shown_file(path)} has more than {MOST_ROWS:,} rows: put it into a database, and name that"
                )
            fields = file.schema_arrow
            if len(fields) > MOST_COLUMNS:
                raise SQLError(
                    f"{shown_file(path)} has {len(fields):,} columns; at most {MOST_COLUMNS:,} are read"
                )
            kinds = [_type_of(pyarrow, field.type) for field in fields]
            insert = _make_table(connection, path, [field.name for field in fields], kinds)
            for batch in file.iter_batches(ROWS_AT_ONCE, use_threads=False):
                columns = [[_value(value) for value in column.to_pylist()] for column in batch.columns]
                connection.executemany(insert, zip(*columns, strict=True))
    except (pyarrow.ArrowException, OSError) as error:
        raise SQLError(f"cannot read {shown_file(path)}: {str(error).partition(chr(10))[0]}") from None


def _type_of(pyarrow: Any, kind: Any) -> str:
    kinds = pyarrow.types
    for test, name in (
        (kinds.is_boolean, "BOOLEAN"),
        (kinds.is_integer, "INTEGER"),
        (kinds.is_floating, "REAL"),
        (kinds.is_decimal, "NUMERIC"),
        (kinds.is_date, "DATE"),
        (kinds.is_timestamp, "TIMESTAMP"),
        (kinds.is_binary, "BLOB"),
        (kinds.is_large_binary, "BLOB"),
    ):
        if test(kind):
            return name
    return "TEXT"


def _value(value: Any) -> Any:
    """Return a value for SQLite: dates and times as ISO 8601, structured values as JSON."""
    if value is None or isinstance(value, bool | float | str | bytes):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


# both --------------------------------------------------------------------------------------------


def _make_table(
    connection: sqlite3.Connection, path: Path, names: Sequence[str], types: Sequence[str]
) -> str:
    """Create the table, and return the statement for adding rows. Empty and duplicate names get a number."""
    taken: set[str] = set()
    columns = []
    for number, given in enumerate(names, 1):
        base = " ".join(given.split()) or f"column_{number}"
        name, count = base, 1
        while name.lower() in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name.lower())
        columns.append(f"{quoted(name)} {types[number - 1]}")
    table = path.stem or "data"
    if table.lower().startswith("sqlite_"):  # SQLite keeps these names for itself
        table = f"table_{table}"
    connection.execute(f"CREATE TABLE {quoted(table)} ({', '.join(columns)})")
    return f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(columns))})"
