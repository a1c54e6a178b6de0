"""What the arguments of ``Grammar.from_sql`` let through and keep out, in both dialects."""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import Any

import pytest
from judges import postgres as postgres_judge
from support.postgres_server import NoServer

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.sql.calls.calls import KINDS, Arity, safe_functions
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
DIALECTS = ("sqlite", "postgres")


@cache
def _compiled(dialect: str, options: tuple[tuple[str, Any], ...]) -> Any:
    return Compiler(BYTES).compile(Grammar.from_sql(dialect, **dict(options)))


def accepts(dialect: str, query: str, **options: Any) -> bool:
    matcher = _compiled(dialect, tuple(sorted(options.items()))).matcher()
    return bool(matcher.accept_string(query) and matcher.is_accepting())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_of_the_dialect_passes(dialect: str) -> None:
    query = (
        "WITH best AS (SELECT author, count(*) AS n FROM books WHERE year BETWEEN 1990 AND 1999 GROUP BY author) "
        "SELECT a.name, coalesce(round(b.n, 2), 0) FROM authors a LEFT JOIN best b ON a.id = b.author "
        "WHERE lower(a.name) LIKE 'a%' ORDER BY 2 DESC, 1 LIMIT 5;"
    )
    assert accepts(dialect, query)
    assert accepts(dialect, query.upper())


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        ("abs(a)", True),
        ("ABS (a)", True),
        ("abs()", False),
        ("abs(a, b)", False),
        ("abs(DISTINCT a)", False),
        ("abs(a) OVER ()", False),
        ("replace(a, b, c)", True),
        ("replace(a, b)", False),
        ("coalesce(a, b, c, d, e)", True),
        ("count(*)", True),
        ("count(DISTINCT a)", True),
        ("count(*) FILTER (WHERE a > 1)", True),
        ("sum(a)", True),
        ("sum(*)", False),
        ("sum(a, b)", False),
        ("sum(a) OVER (PARTITION BY b)", True),
        ("sum(DISTINCT a) OVER ()", False),
        ("row_number() OVER (ORDER BY a)", True),
        ("row_number()", False),
        ("lag(a, 1, 0) OVER w", True),
        ("lag(a, 1, 0, 2) OVER w", False),
        ("absolute(a)", False),
        ("year(a)", False),
        ('"abs"(a)', False),
    ],
)
def test_listed_functions_and_their_arguments(dialect: str, call: str, allowed: bool) -> None:
    query = f"SELECT {call} FROM t WINDOW w AS (ORDER BY a)"
    assert accepts(dialect, query) == allowed
    assert accepts(dialect, query, functions="any")


@pytest.mark.parametrize(
    ("dialect", "call", "allowed"),
    [
        ("sqlite", "strftime('%Y', a)", True),
        ("sqlite", "iif(a, b, c)", True),
        ("sqlite", "max(a, b)", True),
        ("sqlite", "group_concat(a, ', ')", True),
        ("sqlite", "group_concat(DISTINCT a, ', ')", False),  # SQLite: exactly one argument
        ("sqlite", "date_trunc('month', a)", False),
        ("sqlite", "a REGEXP b", False),
        ("sqlite", "load_extension('a')", False),
        ("postgres", "date_trunc('month', a)", True),
        ("postgres", "max(a, b)", False),
        ("postgres", "count()", False),
        ("postgres", "string_agg(a, ', ' ORDER BY b)", True),
        ("postgres", "string_agg(a, ', ' ORDER BY b) OVER ()", False),
        ("postgres", "percentile_cont(0.5) WITHIN GROUP (ORDER BY a)", True),
        ("postgres", "percentile_cont(0.5)", False),
        ("postgres", "make_interval(days => 3)", True),
        ("postgres", "concat(VARIADIC a)", False),
        ("postgres", "pg_catalog.abs(a)", False),
        ("postgres", "EXTRACT(year FROM a)", True),
        ("postgres", "strftime('%Y', a)", False),
        ("postgres", "pg_sleep(1)", False),
    ],
)
def test_listed_functions_of_one_dialect(dialect: str, call: str, allowed: bool) -> None:
    assert accepts(dialect, f"SELECT {call} FROM t") == allowed


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("a::text", True),
        ("a::timestamptz(3)", True),
        ("a::int4[]", True),
        ("CAST(a AS double precision)", True),
        ("date '2024-01-01'", True),
        ("jsonb'{}'", True),
        ("point '(1,2)'", True),
        ("numeric(3, 1) '1.5'", True),
        ("a::string", False),
        ("CAST(a AS signed)", False),
        ("my_type 'a'", False),
        ("public.my_type 'a'", False),
    ],
)
def test_types_of_the_catalogue(value: str, allowed: bool) -> None:
    assert accepts("postgres", f"SELECT {value} FROM t") == allowed
    assert accepts("postgres", f"SELECT {value} FROM t", functions="any")


def test_functions_in_from() -> None:
    assert accepts("sqlite", "SELECT value FROM json_each('[1]') WHERE key IN json_tree('[2]')")
    assert not accepts("sqlite", "SELECT * FROM generate_series(1, 3)")
    assert accepts("sqlite", "SELECT * FROM generate_series(1, 3)", functions="any")
    assert accepts("postgres", "SELECT n FROM generate_series(1, 3) WITH ORDINALITY AS g (n)")
    assert not accepts("postgres", "SELECT * FROM my_rows(1)")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_list_of_functions(dialect: str) -> None:
    chosen = ("Abs", "my_own", "sum")
    for query, allowed in {
        "SELECT abs(1)": True, "SELECT abs(1, 2)": False, "SELECT my_own()": True, "SELECT MY_OWN(1, 2, 3)": True,
        "SELECT sum(DISTINCT a) FROM t": True, "SELECT avg(a) FROM t": False, "SELECT * FROM my_own(1)": True,
        "SELECT my_own(a) OVER ()": True,
    }.items():  # fmt: skip
        assert accepts(dialect, query, functions=chosen) == allowed, query
    assert accepts(dialect, "SELECT a FROM t", functions=())
    assert not accepts(dialect, "SELECT abs(a) FROM t", functions=())
    assert accepts("sqlite", "SELECT a REGEXP b, c LIKE d", functions=("regexp",))


@pytest.mark.parametrize(
    ("dialect", "queries"),
    [
        (
            "sqlite",
            """\
SELECT load_extension('a')
SELECT "load_extension"('a')
SELECT [writefile]('a', 'b')
SELECT `readfile`('a')
SELECT * FROM pragma_table_info('t')
SELECT * FROM "pragma_database_list"
WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d
SELECT 1; DROP TABLE t
PRAGMA user_version
ATTACH 'a' AS b
EXPLAIN SELECT 1
INSERT INTO t VALUES (1)""",
        ),
        (
            "postgres",
            """\
SELECT * INTO u FROM t
SELECT * FROM (SELECT 1 INTO u) v
SELECT * FROM t FOR UPDATE
SELECT * FROM t FOR KEY SHARE
WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d
WITH d AS (UPDATE t SET a = 1 RETURNING *) TABLE d
WITH d AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM d
WITH d AS (MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE) SELECT 1
SELECT nextval('s')
SELECT pg_catalog.setval('s', 1)
SELECT "set_config"('a', 'b', false)
SELECT U&"set\\005fconfig"('a', 'b', false)
SELECT ('s'::regclass).nextval
SELECT x.nextval FROM cast('s' AS regclass) x
SELECT x."nextval" FROM cast('s' AS regclass) x
SELECT x.a.nextval FROM t x
SELECT * FROM pg_ls_dir('.')
SELECT lo_import('/etc/passwd')
SELECT pg_notify('a', 'b'), pg_advisory_lock(1), pg_terminate_backend(1), pg_read_file('a')
SELECT query_to_xml('DELETE FROM t', true, true, '')
SELECT * FROM dblink('a', 'DELETE FROM t') AS d (a int)
SELECT 1; DROP TABLE t
SELECT 1 /* ; */; DROP TABLE t
COPY (SELECT 1) TO PROGRAM 'sh'
DO 'BEGIN END'
CALL f()""",
        ),
    ],
)
def test_nothing_that_writes(dialect: str, queries: str) -> None:
    for query in queries.splitlines():
        for options in ({}, {"functions": "any"}, {"functions": "any", "allow_comments": True}):
            assert not accepts(dialect, query, **options), (query, options)


def test_side_effects_on_request() -> None:
    assert accepts("postgres", "SELECT nextval('s')", functions="any", read_only=False)
    assert accepts("postgres", "SELECT nextval('s')", functions=("nextval",), read_only=False)
    assert accepts("sqlite", "SELECT load_extension('s')", functions=("load_extension",), read_only=False)
    assert not accepts("postgres", "SELECT nextval('s')", read_only=False)  # not in the list
    assert not accepts("postgres", "DELETE FROM t", functions="any", read_only=False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_cannot_leave_its_quotes(dialect: str) -> None:
    assert accepts(dialect, "SELECT 'it''s; DROP TABLE t --'")
    assert not accepts(dialect, "SELECT 'it\\'s'")
    assert not accepts(dialect, "SELECT 'a'; DROP TABLE t --'")
    assert not accepts(dialect, "SELECT '" + "a" * 4001 + "'")
    assert accepts(dialect, "SELECT '" + "a" * 4000 + "'")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_comments(dialect: str) -> None:
    for query in ("SELECT 1 -- one", "SELECT /* one */ 1", "-- one\nSELECT 1", "SELECT 1 /* ; */ ;"):
        assert not accepts(dialect, query)
        assert accepts(dialect, query, allow_comments=True)
    assert not accepts(dialect, "SELECT 1 -- one\n; DROP TABLE t", allow_comments=True)
    assert accepts(dialect, "SELECT 4 - -2, 4 / 2")
    assert accepts(dialect, "SELECT '--', '/*'")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("most", "others"), [(0, (1, 10)), (7, (8, 10, 70)), (100, (101, 200, 1000)), (250, (251, 300, 999))]
)
def test_row_limit(dialect: str, most: int, others: tuple[int, ...]) -> None:
    for rows in {0, most // 2, most}:
        assert accepts(dialect, f"SELECT a FROM t ORDER BY a LIMIT {rows}", max_limit=most)
        assert accepts(dialect, f"SELECT 1 UNION SELECT 2 LIMIT {rows} OFFSET 9999;", max_limit=most)
        assert accepts(
            dialect, f"WITH b AS (SELECT 1 LIMIT 9999) SELECT (SELECT 1) FROM b LIMIT {rows}", max_limit=most
        )
    for rows in others:
        assert not accepts(dialect, f"SELECT a FROM t LIMIT {rows}", max_limit=most)
    for query in (
        "SELECT a FROM t",
        "SELECT a FROM t LIMIT 0 + 1",
        "SELECT a FROM t LIMIT -1",
        "SELECT a FROM t LIMIT 01",
    ):
        assert not accepts(dialect, query, max_limit=most)


def test_row_limit_in_words() -> None:
    assert accepts("sqlite", "SELECT a FROM t LIMIT 1000, 5", max_limit=5)
    assert not accepts("sqlite", "SELECT a FROM t LIMIT 5, 1000", max_limit=5)
    assert accepts("postgres", "SELECT a FROM t OFFSET 9 FETCH FIRST 5 ROWS ONLY", max_limit=5)
    assert not accepts("postgres", "SELECT a FROM t FETCH FIRST 6 ROWS ONLY", max_limit=5)
    assert not accepts("postgres", "SELECT a FROM t ORDER BY a FETCH FIRST 5 ROWS WITH TIES", max_limit=5)
    assert not accepts("postgres", "SELECT a FROM t LIMIT ALL", max_limit=5)
    assert accepts("postgres", "(SELECT a FROM t ORDER BY a) LIMIT 5", max_limit=5)
    assert not accepts("postgres", "(SELECT a FROM t)", max_limit=5)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"dialect": "mysql"}, "dialect: 'mysql' is not one of sqlite, postgres"),
        ({"dialect": None}, "dialect: None"),
        ({"dialect": "sqlite", "max_limit": -1}, "max_limit: -1 is not a number of rows"),
        ({"dialect": "sqlite", "max_limit": True}, "max_limit: True"),
        ({"dialect": "sqlite", "max_limit": "5"}, "max_limit: '5'"),
        ({"dialect": "sqlite", "functions": "abs"}, "functions: 'abs' is neither"),
        ({"dialect": "sqlite", "functions": ["a b"]}, "functions: 'a b' is not the name of a function"),
        ({"dialect": "sqlite", "functions": [1]}, "functions: 1 is not the name of a function"),
        ({"dialect": "sqlite", "functions": ["load_extension"]}, "`load_extension` has side effects"),
        ({"dialect": "postgres", "functions": ["abs", "PG_Sleep_For"]}, "`PG_Sleep_For` has side effects"),
        ({"dialect": "postgres", "functions": ["public.lo_put"]}, "`public.lo_put` has side effects"),
    ],
)
def test_errors(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(SQLError, match=re.escape(text)):
        Grammar.from_sql(**arguments)


def test_the_dialect_has_a_second_name() -> None:
    assert Grammar.from_sql("PostgreSQL").dump() == Grammar.from_sql("postgres").dump()


def arities(dialect: str) -> list[tuple[str, str, int]]:
    functions = safe_functions(dialect)
    return [
        (kind, name, count)
        for kind in KINDS
        for arity, names in functions.of(kind).items()
        for name in names
        for count in (*arity.counts, *([arity.counts[-1] + 1] if arity.open else []))
    ]


def test_sqlite_has_the_listed_functions() -> None:
    database = sqlite3.connect(":memory:")
    there = {name for (name,) in database.execute("SELECT name FROM pragma_function_list")}
    for kind, name, count in arities("sqlite"):
        if kind == "table" or name not in there:  # a library may lack JSON or mathematics
            continue
        call = f"{name}({', '.join(['NULL'] * count) or ('*' if name == 'count' else '')})"
        database.execute(f"EXPLAIN SELECT {call}{' OVER ()' if kind == 'window' else ''}")
        assert accepts("sqlite", f"SELECT {call}{' OVER ()' if kind == 'window' else ''}")


def test_postgres_has_the_listed_functions() -> None:
    psycopg = pytest.importorskip("psycopg")
    try:
        server = postgres_judge.running_server()
    except NoServer as error:
        pytest.skip(str(error))
    with psycopg.connect(server.conninfo) as connection:
        rows = connection.execute(
            "SELECT proname, pronargs - pronargdefaults, pronargs, provariadic <> 0, provolatile FROM pg_proc"
        ).fetchall()
    there = [(name, low, None if variadic else high) for name, low, high, variadic, _ in rows]
    names = {name for name, *_ in there}
    for _, name, count in arities("postgres"):
        if name in names:
            assert any(
                n == name and low - 1 <= count and (high is None or count <= high) for n, low, high in there
            ), name
    volatile = {name for name, *_, kind in rows if kind == "v"} - {
        name for name, *_, kind in rows if kind != "v"
    }
    listed = {name for _, name, _ in arities("postgres")}
    assert volatile & listed == {"random", "clock_timestamp", "timeofday", "gen_random_uuid"}


def test_arities_are_read() -> None:
    assert Arity.read("2") == Arity((2,))
    assert Arity.read("1,2,4") == Arity((1, 2, 4))
    assert Arity.read("0+") == Arity((0,), True)
