"""CSV and Parquet files as tables: read into a SQLite database in memory, which no statement changes afterwards."""

from __future__ import annotations

import csv
import datetime
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.inspect_sqlite import quoted
from stackmask.grammar.sql.schema.secrets import shown_file

ENDINGS: Final = (".csv", ".tsv", ".parquet")
MOST_BYTES: Final = 256 << 20  # of a file
MOST_ROWS: Final = 2_000_000
MOST_COLUMNS: Final = 1_000
LONGEST_CELL: Final = 1 << 20  # characters
SNIFFED: Final = 1 << 16  # characters that tell what separates the cells
ROWS_AT_ONCE: Final = 5_000

_INTEGER: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")  # what 64 bits hold; 007 is no number but a code
_REAL: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,3})?")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TYPES: Final = (("INTEGER", _INTEGER), ("REAL", _REAL), ("DATE", _DAY))
_MADE: Final[dict[str, Callable[[str], Any]]] = {"INTEGER": int, "REAL": float}


def is_table_file(path: Path) -> bool:
    """Say whether a path names a file that holds one table."""
    return path.suffix.lower() in ENDINGS


def open_table_file(path: Path) -> sqlite3.Connection:
    """Read a CSV or Parquet file into a new database in memory; its table is called like the file.

    Raises: SQLError if there is no such file, it is too large, or it cannot be read.
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
    """Return how the cells are written: what separates them is looked for, quotes are doubled."""

    class Found(csv.excel):
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","

    if path.suffix.lower() == ".csv":
        line = file.read(SNIFFED).partition("\n")[0]
        counts = {mark: line.count(mark) for mark in ",;\t|"}
        Found.delimiter = max(counts, key=lambda mark: counts[mark])
    return Found


@contextmanager
def _rows(path: Path, dialect: type[csv.Dialect]) -> Iterator[Iterator[list[str]]]:
    """Read the rows that are not empty, within the limits."""
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
    """Return a type for each column that all of its cells have; empty ones have any."""
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
    """Return a value as SQLite has it: days and moments as ISO 8601, what has parts as JSON."""
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
    """Make the table, and return the statement that adds a row. Empty names and those of others get a number."""
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
