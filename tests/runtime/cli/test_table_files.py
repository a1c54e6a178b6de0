"""CSV and Parquet files as databases: what becomes of the cells, what is refused, and that nothing is written."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.runtime.cli import sqlite_database
from stackmask.runtime.cli.database import QueryError
from stackmask.runtime.cli.query_process import open_database
from stackmask.runtime.cli.sqlite_database import SQLiteDatabase

GUARD = 600  # seconds: against a hang only
PEOPLE = 'Name;age;"born on";score;code;empty;age\nAnn;31;1990-01-02;1.5;007;;1\n"Bo; b";;;2;12;;\n\nÉva;-5\n'


@contextmanager
def opened(path: Path, text: str | bytes) -> Iterator[SQLiteDatabase]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with closing(SQLiteDatabase(path)) as database:
        yield database


def types(database: SQLiteDatabase) -> list[tuple[str, str]]:
    (table,) = database.schema.tables
    return [(column.name, column.type) for column in table.columns]


def test_cells_have_the_types_that_all_of_a_column_have(tmp_path: Path) -> None:
    with opened(tmp_path / "my people.csv", PEOPLE) as database:
        assert database.schema.tables[0].name == "my people"
        assert types(database) == [
            ("Name", "TEXT"),
            ("age", "INTEGER"),
            ("born on", "DATE"),
            ("score", "REAL"),
            ("code", "TEXT"),  # a number has no zeros before it
            ("empty", "TEXT"),
            ("age_2", "INTEGER"),
        ]
        found = database.run('SELECT * FROM "my people"', timeout=GUARD, limit=9).rows
    assert found == [
        ("Ann", 31, "1990-01-02", 1.5, "007", None, 1),
        ("Bo; b", None, None, 2.0, "12", None, None),
        ("Éva", -5, None, None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("name", "text", "columns", "rows"),
    [
        ("a.csv", "1,2\n3,x\n", ["column_1", "column_2"], [(1, "2"), (3, "x")]),  # no names in the first row
        ("a.tsv", "a\tb\n1\t2\n", ["a", "b"], [(1, 2)]),
        ("a.csv", "\ufeffa|b\r\nx|\r\n", ["a", "b"], [("x", None)]),
        ("a.csv", 'a,A\n"1\n2",x\n', ["a", "A_2"], [("1\n2", "x")]),
        ("a.csv", "n\n9999999999999999999\n1\n", ["n"], [("9999999999999999999",), ("1",)]),
        ("a.csv", "a\n", ["a"], []),
    ],
)
def test_forms_of_csv(tmp_path: Path, name: str, text: str, columns: list[str], rows: list[Any]) -> None:
    with opened(tmp_path / name, text) as database:
        assert [column for column, _ in types(database)] == columns
        assert database.run("SELECT * FROM a", timeout=GUARD, limit=9).rows == rows


def test_names_that_sqlite_keeps_for_itself(tmp_path: Path) -> None:
    with opened(tmp_path / "sqlite_x.csv", "a\n1\n") as database:
        assert database.schema.tables[0].name == "table_sqlite_x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n1,2,3\n", "line 2: 3 cells, where the first row has 2"),
        (b"a\n\xff\n", "is not UTF-8"),
        ('a,b\n"x"y,2\n', "line 2: "),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(SQLError, match=message), opened(tmp_path / "a.csv", text):
        pass


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value, message in (
        ("MOST_BYTES", 3, "more than 0 MiB"),
        ("MOST_ROWS", 1, "more than 1 rows"),
        ("MOST_COLUMNS", 1, "2 columns; at most 1"),
        ("LONGEST_CELL", 2, "field larger than field limit"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_database, name, value)
            with pytest.raises(SQLError, match=message), opened(tmp_path / "a.csv", "aa,bb\nlong,2\n3,4\n"):
                pass


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM a",
        "INSERT INTO a VALUES (1)",
        "DROP TABLE a",
        "CREATE TABLE b (x)",
        "CREATE TEMP TABLE b (x)",
        "PRAGMA query_only = OFF",
        "ATTACH 'other.db' AS o",
        "VACUUM INTO 'other.db'",
    ],
)
def test_nothing_is_written(tmp_path: Path, statement: str) -> None:
    with opened(tmp_path / "a.csv", "x\n1\n") as database:
        with pytest.raises(QueryError):
            database.run(statement, timeout=GUARD, limit=1)
        assert database.run("SELECT x FROM a", timeout=GUARD, limit=2).rows == [(1,)]
        database._connection.set_authorizer(None)  # one of the locks is enough
        if not statement.startswith(("PRAGMA", "ATTACH", "VACUUM")):
            with pytest.raises(QueryError):
                database.run(statement, timeout=GUARD, limit=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x\n1\n2\n")
    with closing(open_database(file)) as database:
        assert database.run("SELECT SUM(x) FROM a", timeout=GUARD, limit=2).rows == [(3,)]
    with pytest.raises(SQLError, match="no such file"):
        open_database(tmp_path / "none.csv")


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "p.parquet"
    columns = {
        "n": [1, None],
        "x": [1.5, 2.0],
        "b": [True, False],
        "day": [datetime.date(2020, 1, 2)] * 2,
        "at": [datetime.datetime(2020, 1, 2, 3, 4)] * 2,
        "m": [Decimal("1.50"), None],
        "l": [[1, 2], []],
        "d": [b"\xff", None],
    }
    parquet.write_table(pyarrow.table(columns), file)
    with closing(open_database(file)) as database:
        assert [c.type for c in database.schema.tables[0].columns] == [
            "INTEGER",
            "REAL",
            "BOOLEAN",
            "DATE",
            "TIMESTAMP",
            "NUMERIC",
            "TEXT",
            "BLOB",
        ]
        assert database.run("SELECT * FROM p", timeout=GUARD, limit=1).rows == [
            (1, 1.5, 1, "2020-01-02", "2020-01-02 03:04:00", 1.5, "[1, 2]", b"\xff")
        ]
    file.write_bytes(b"PAR1 no")
    with pytest.raises(SQLError, match="cannot read"):
        open_database(file)


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SQLError, match="needs pyarrow"), opened(tmp_path / "p.parquet", b"PAR1"):
        pass
