"""Reading schemas: what the database itself says is the truth."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from repository.tree import REPO
from support.pages import run_page

from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.read import read_schema
from stackmask.grammar.sql.schema.schema import Column, Schema, Table

ODD = ('"', "'", "a b", "SELECT", "é日本🙂", "a.b", "x\ny", "]", "`", "--", "/*", "0", "%s", "")
SCRIPT = """
CREATE TABLE a (x int, "y z" varchar (30) NOT NULL, g AS (x + 1), h int AS (x + 2) STORED, RowId text);
CREATE TABLE w (k PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE n (id integer PRIMARY KEY AUTOINCREMENT, p REFERENCES a);
CREATE VIEW v AS SELECT a.x, w.v, count(*) AS "n n" FROM a, w;
CREATE VIEW broken AS SELECT * FROM gone;
CREATE VIRTUAL TABLE f USING fts5 (title, body);
CREATE VIRTUAL TABLE r USING rtree (id, low, high);
"""


def names(schema: Schema) -> dict[str, list[str]]:
    return {table.name: [column.name for column in table.columns] for table in schema.tables}


def refused(source: Any, message: str, dialect: str = "sqlite") -> str:
    with pytest.raises(SQLError) as caught:
        read_schema(source, dialect)
    text = str(caught.value)
    assert message in text, text
    return text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a file#.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCRIPT)
    return path


def test_a_sqlite_file(file: Path) -> None:
    schema = read_schema(file, "sqlite")
    assert schema.dialect == "sqlite" and schema.default_schemas == ("main",)
    found = {table.name: table for table in schema.tables}
    assert list(found) == ["a", "w", "n", "v", "f", "r"]  # as they were made; the broken view cannot be asked
    assert found["a"] == Table(
        "a",
        (
            Column("x", "INT"),
            Column("y z", "varchar (30)"),
            Column("g"),
            Column("h", "INT"),
            Column("RowId", "TEXT"),
        ),
        "main",
        False,
        ("oid", "_rowid_"),
    )
    assert found["w"].implicit == () and found["v"].implicit == ()
    assert found["v"].is_view and names(schema)["v"] == ["x", "v", "n n"]
    assert found["f"].implicit == ("f", "rank", "rowid", "oid", "_rowid_")
    assert found["r"].columns[0].name == "id"


@pytest.mark.parametrize("way", ["connection", "text", "url", "ddl"])
def test_the_same_from_other_sources(file: Path, way: str) -> None:
    wanted = read_schema(file, "sqlite")
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory, connection.text_factory = sqlite3.Row, bytes
        source: Any = {
            "connection": connection,
            "text": str(file),
            "url": f"sqlite:///{file}",
            "ddl": SCRIPT,
        }[way]
        assert read_schema(source, "sqlite") == wanted
        assert connection.text_factory is bytes


def test_every_name_it_reports_can_be_used(file: Path) -> None:
    """The database is the judge: each column, and each implicit one, in a query of its own."""
    with closing(sqlite3.connect(file)) as connection:
        for table in read_schema(connection, "sqlite").tables:
            for name in [*(column.name for column in table.columns), *table.implicit]:
                connection.execute(f'SELECT "{table.name}"."{name}" FROM "{table.schema}"."{table.name}"')
            star = connection.execute(f'SELECT * FROM "{table.name}"')
            assert [column[0] for column in star.description] == [column.name for column in table.columns]


def test_attached_and_temporary_tables() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            'CREATE TABLE t (a); CREATE TEMP TABLE t (b); ATTACH \':memory:\' AS "o ""d";'
            'CREATE TABLE "o ""d".t (c); CREATE TABLE "o ""d".u (d)'
        )
        schema = read_schema(connection, "sqlite")
        assert schema.default_schemas == ("temp", "main", 'o "d')
        assert [(t.schema, t.name, t.columns[0].name) for t in schema.tables] == [
            ("temp", "t", "b"),
            ("main", "t", "a"),
            ('o "d', "t", "c"),
            ('o "d', "u", "d"),
        ]
        # what an unqualified name means is the first of them
        assert connection.execute("SELECT * FROM t").description[0][0] == "b"


def test_odd_names() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for name in ODD:
            quoted = '"' + name.replace('"', '""') + '"'
            connection.execute(f'CREATE TABLE {quoted} ({quoted}, "other")')
        schema = read_schema(connection, "sqlite")
        assert names(schema) == {name: [name, "other"] for name in ODD}
    assert names(read_schema({name: [name] for name in ODD}, "sqlite")) == {name: [name] for name in ODD}


def test_a_thousand_tables() -> None:
    text = "".join(f"CREATE TABLE t{i} (id INTEGER PRIMARY KEY, c{i} TEXT);\n" for i in range(1000))
    found = names(read_schema(text, "sqlite"))
    assert len(found) == 1000 and found["t999"] == ["id", "c999"]
    assert names(read_schema({f"t{i}": ["id", f"c{i}"] for i in range(1000)}, "postgres")) == found


# descriptions ------------------------------------------------------------------------------------


def test_names_and_types() -> None:
    schema = read_schema({"t": {"a": "int", "b": ""}, ("s", "u"): ["c"]}, "PostgreSQL")
    assert schema == Schema(
        "postgres",
        (Table("t", (Column("a", "int"), Column("b"))), Table("u", (Column("c"),), "s")),
        ("s",),
    )
    assert read_schema(schema, "postgres") == schema
    assert read_schema(Schema(None, schema.tables), "sqlite").dialect == "sqlite"
    refused(schema, "it is one of postgres, not of sqlite")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "there are no tables"),
        ({"t": []}, "table 't' has no columns"),
        ({"t": "ab"}, "needs a list of columns"),
        ({"t": 3}, "needs a list of columns"),
        ({"t": ["a", "A"]}, "the column 'A' twice"),
        ({"t": ["a"], "T": ["b"]}, "'T' is there twice"),
        ({"t": [3]}, "is not text: 3"),
        ({"t": {"a": 3}}, "the type of 'a' is not text"),
        ({3: ["a"]}, "3 is not the name of a table"),
        ({"t": ["a\0b"]}, "a NUL character"),
        ({"t": ["\ud800"]}, "not Unicode text"),
        (3, "a int is not one of"),
        ("", "the text is empty"),
        (" \n", "the text is empty"),
    ],
)
def test_descriptions_that_make_no_sense(source: Any, message: str) -> None:
    refused(source, message)


def test_case_counts_in_postgres() -> None:
    found = read_schema({"t": ["a", "A"], "T": ["é", "É"]}, "postgres")
    assert names(found) == {"t": ["a", "A"], "T": ["é", "É"]}
    assert names(read_schema({"t": ["é", "É"]}, "sqlite")) == {"t": ["é", "É"]}  # SQLite folds ASCII alone
    refused({"t": [""]}, "is empty", "postgres")
    with pytest.raises(SQLError, match="is not one of sqlite"):
        read_schema({"t": ["a"]}, "mysql")


# databases that cannot be read -------------------------------------------------------------------


def test_files_that_are_no_databases(tmp_path: Path) -> None:
    text, empty, nothing = tmp_path / "text", tmp_path / "empty.db", tmp_path / "nothing.db"
    text.write_text("no database, but long enough to have a header " * 20)
    empty.write_bytes(b"")
    with closing(sqlite3.connect(nothing)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("DROP TABLE t")
    refused(tmp_path / "none", "no such database")
    refused(tmp_path, "not a database file")
    refused(text, "is not a database; it is of another kind, or encrypted")
    refused(empty, "has no tables")
    refused(nothing, "has no tables")


def test_a_locked_database(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, timeout=0.05))
    with closing(connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused(file, "database is locked")
        other.execute("ROLLBACK")
    assert read_schema(file, "sqlite").tables


def test_a_closed_connection() -> None:
    connection = sqlite3.connect(":memory:")
    connection.close()
    refused(connection, "closed database")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("foo://host/db", "no database is known under foo://"),
        ("mysql+mysqldb://u:secret@h/d", "needs MySQLdb, which is not installed"),
        ("postgresql://u:secret@127.0.0.1:1/d", "Connection refused"),
        ("postgresql://u:secret@127.0.0.1:port/d", "cannot be read"),
        ("sqlite:///", "names no file"),
        ("sqlite:////nowhere/at/all.db", "no such database"),
    ],
)
def test_urls_that_lead_nowhere(url: str, message: str) -> None:
    text = refused(url, message, "sqlite" if url.startswith("sqlite") else "postgres")
    assert "secret" not in text and "\n" not in text


def test_without_the_extra() -> None:
    for module, source, message in (
        (
            "sqlalchemy",
            "postgresql://h/d",
            "needs SQLAlchemy, which is not installed: pip install 'stackmask[sql]'",
        ),
        (
            "psycopg",
            "postgresql://h/d",
            "needs psycopg, which is not installed (pip install 'stackmask[sql]')",
        ),
        (
            "sqlglot",
            "CREATE TABLE t (a int)",
            "needs sqlglot, which is not installed: pip install 'stackmask[sql]'",
        ),
    ):
        script = f"""
import sys
sys.modules[{module!r}] = None
from stackmask.grammar.sql.schema.read import read_schema
from stackmask.grammar.sql.schema.errors import SQLError
try:
    read_schema({source!r}, "postgres")
except SQLError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert message in done.stdout, done.stdout


# SQLite's statements -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ddl", "place", "message", "caret"),
    [
        ("CREATE TABLE a (x,\n y FOO (3) NOT NUL);", "line 2, column 16", 'near "NUL": syntax error', "^^^"),
        ("CREATE TABLE a (x);\nCREATE TABLE b (y;\n", "line 2, column 18", 'near ";"', "^"),
        ("CREATE TABLE a (x, y\n", "line 1, column 21", "the statement is not finished", "^"),
        ("CREATE TABLE a (x);\n CREATE TABLE A (y)", "line 2, column 2", "table A already exists", "^^^^^^"),
        ("CREATE TABLE a (x 'abc)", "line 1, column 19", "unrecognized token", "^^^^^"),
        ("-- c\nhello;", "line 2, column 1", 'near "hello"', "^^^^^"),
        ("CREATE TABLE a (x);\0", "line 1, column 20", "NUL", "^"),
        ("CREATE TABLE a (x, X)", "line 1, column 1", "duplicate column name", "^^^^^^"),
        ("CREATE TABLE near (near near near NOT near);", "line 1, column 39", 'near "near"', "^^^^"),
    ],
)
def test_statements_that_sqlite_refuses(ddl: str, place: str, message: str, caret: str) -> None:
    text = refused(ddl, message)
    assert text.startswith(f"the DDL cannot be read, {place}: ")
    assert text.endswith(" " + caret)


def test_statements_stay_in_memory(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    for statement in (f"ATTACH '{other}' AS o", f"VACUUM INTO '{other}'"):
        refused(f"CREATE TABLE t (a);\n{statement};", "only statements about this one database")
    assert not other.exists()
    dump = (
        "PRAGMA foreign_keys=OFF; BEGIN TRANSACTION; CREATE TABLE t (a); INSERT INTO t VALUES (';'); COMMIT;"
    )
    assert names(read_schema(dump, "sqlite")) == {"t": ["a"]}


def test_statements_that_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackmask.grammar.sql.schema.ddl.MAX_SECONDS", 0.1)
    refused(
        "CREATE TABLE t (a); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "INSERT INTO t SELECT count(*) FROM n;",
        "took longer than 0.1 s",
    )


def test_triggers_and_comments_are_split_as_sqlite_does() -> None:
    ddl = (
        "/* ; */ CREATE TABLE t (a, b -- ; \n, c);\n"
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; SELECT 1; END;\n"
        "ALTER TABLE t ADD COLUMN d; ALTER TABLE t RENAME COLUMN a TO z; CREATE TABLE u AS SELECT z, b FROM t;"
        "CREATE TABLE gone (x); DROP TABLE gone; -- the end"
    )
    assert names(read_schema(ddl, "sqlite")) == {"t": ["z", "b", "c", "d"], "u": ["z", "b"]}


def test_other_databases_of_sqlalchemy(file: Path) -> None:
    import sqlalchemy

    wanted = read_schema(file, "sqlite")
    engine = sqlalchemy.create_engine("sqlite://", creator=lambda: sqlite3.connect(file))
    assert read_schema(engine, "sqlite") == wanted
    with engine.connect() as connection:
        assert read_schema(connection, "sqlite") == wanted
    engine.dispose()
    refused(engine, "it is one of sqlite, not of postgres", "postgres")


def test_the_inspector_reads_what_has_no_reader_of_its_own() -> None:
    import sqlalchemy

    from stackmask.grammar.sql.schema.inspect_server import _inspect

    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER, b VARCHAR(3))")
        connection.exec_driver_sql("CREATE VIEW v AS SELECT a FROM t")
        found = _inspect(connection)
    engine.dispose()
    assert [(t.name, t.is_view) for t in found.tables] == [("t", False), ("v", True)]
    assert found.tables[0].columns == (Column("a", "INTEGER"), Column("b", "VARCHAR(3)"))


def test_examples_of_the_page() -> None:
    page = "docs/sql-database.md"
    run_page(page)
    text = (REPO / page).read_text(encoding="utf-8")
    shown = refused("CREATE TABLE a (x,\n y FOO (3) NOT NUL);", "near")
    assert "\n".join("    " + line for line in shown.splitlines()) in text
