"""Queries over a schema: what SQLite prepares and what it does not, and that no allowed text is a dead end."""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import Any

import pytest
from support.random_queries import check_masks_along, random_queries

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
TABLES = {
    "singer": ["singer_id", "name", "Age"],
    "concert": ["concert_id", "title", "year", "stadium id"],
    "singer_in_concert": ["singer_id", "concert_id"],
    "Order": ["id", "select", "name"],
}
PREPARED = """
SELECT name FROM singer
select NAME, age from SINGER where Age > 30 order by name desc limit 3;
SELECT T1.name, T2.concert_id FROM singer AS T1 JOIN singer_in_concert AS T2 ON T1.singer_id = T2.singer_id
SELECT title FROM singer, singer_in_concert JOIN concert USING (concert_id)
SELECT singer_id FROM singer NATURAL JOIN singer_in_concert
SELECT singer_id FROM singer JOIN singer_in_concert USING (singer_id)
SELECT "stadium id", `stadium id`, [stadium id] FROM concert
SELECT count(*) FROM (SELECT name FROM singer GROUP BY name HAVING count(*) > 1)
SELECT (SELECT title FROM concert WHERE concert.year = s.age) FROM singer s
SELECT name FROM singer WHERE EXISTS (SELECT 1 FROM singer_in_concert WHERE singer_id = singer.singer_id)
SELECT name FROM singer WHERE singer_id IN (SELECT singer_id FROM singer_in_concert UNION SELECT 3)
WITH old(n, a) AS (SELECT name, age FROM singer), x AS (SELECT n FROM old) SELECT x.n, old.a FROM x JOIN old USING (n)
SELECT name, rank() OVER (PARTITION BY age ORDER BY name) AS place FROM singer ORDER BY place
SELECT age AS a, count(DISTINCT name) AS n FROM singer WHERE a > 3 GROUP BY a HAVING n > 2 ORDER BY n DESC, 1
SELECT name FROM singer UNION SELECT title FROM concert ORDER BY 1
SELECT singer.* FROM singer LEFT JOIN concert ON year = age
SELECT name FROM (SELECT name, age FROM singer) AS s WHERE s.age > 3
SELECT * FROM singer UNION SELECT * FROM singer
SELECT title, name, age FROM concert, singer EXCEPT SELECT concert_id, * FROM singer_in_concert
SELECT name FROM singer WHERE singer_id IN (SELECT * FROM (SELECT 1 AS one))
SELECT (SELECT o.name FROM "Order" AS o UNION SELECT singer.age FROM singer ORDER BY name) FROM singer
""".strip().splitlines()
# tables of the schema are read by each part of the answer, in FROM or in a query within
FROM_TABLES = """
SELECT (SELECT count(*) FROM singer) + (SELECT count(*) FROM concert)
SELECT 1 AS one FROM singer
WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < 9) SELECT k, name FROM r, singer
WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT singer_id FROM singer, r) SELECT k FROM r
WITH y AS (SELECT 1 AS k), s AS (SELECT max(k) AS m FROM y, singer) SELECT m FROM s
SELECT 1 FROM (VALUES (1)) AS v, singer WHERE v.column1 = 1
SELECT name FROM singer WHERE EXISTS (SELECT 1) AND age IN (VALUES (1), (2)) AND name = (SELECT 'x')
SELECT name, age FROM singer UNION SELECT * FROM (SELECT * FROM (SELECT age, max(name) FROM singer))
SELECT singer_id, name, age FROM singer UNION SELECT * FROM singer_in_concert, (SELECT 1)
SELECT * FROM (SELECT name FROM singer UNION SELECT 'x')
""".strip().splitlines()
WITHOUT_FROM = """
SELECT 1
SELECT 'I cannot answer' AS answer;
WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < 9) SELECT k FROM r
VALUES (1, 2), (3, 4)
SELECT 1, 2, 3 UNION SELECT * FROM singer_in_concert, (SELECT 3 AS three)
SELECT 1, 2, 3 UNION SELECT * FROM singer_in_concert JOIN (SELECT singer_id FROM singer) USING (singer_id), (SELECT 3 AS three)
SELECT 1 FROM (VALUES (1, 2), (3, 4)) AS t WHERE t.column2 = 4
SELECT name FROM singer UNION ALL SELECT 'total'
SELECT name FROM singer UNION VALUES ('x')
SELECT * FROM (SELECT 1)
SELECT name FROM singer UNION SELECT * FROM (SELECT 1)
SELECT name FROM singer UNION SELECT * FROM (SELECT * FROM (VALUES (1)))
WITH s AS (SELECT name FROM singer) SELECT 1
WITH y AS (SELECT 1 AS k) SELECT k FROM y
WITH y AS (SELECT 1 AS k) SELECT name FROM singer UNION SELECT * FROM y
""".strip().splitlines()
STRINGS = r"""
SELECT COUNT(*) FROM singer WHERE "agee" > 60
SELECT "salary" FROM singer
SELECT name FROM singer ORDER BY "salry"
SELECT name FROM singer JOIN concert ON "yeer" = age
SELECT "select" FROM "Order" WHERE "Order".name = "no column of this name"
SELECT 1 FROM (VALUES (("x") COLLATE nocase, 2), ("y", 3)) AS t WHERE t.x = 1 AND t.column2 = 2
SELECT 1 FROM (VALUES (+"x")) AS t WHERE t.column1 = 1
""".strip().splitlines()
NOT_PREPARED = """
SELECT (SELECT singer.name FROM "Order" UNION SELECT singer.age FROM singer ORDER BY name) FROM singer
SELECT 1 FROM (VALUES ("x", 2)) AS t WHERE t.column1 = 1
SELECT 1 FROM (VALUES ("x"), ("y")) AS t WHERE t.y = 1
SELECT title FROM singer
SELECT nothing FROM singer
SELECT T1.title FROM singer AS T1
SELECT name FROM singer WHERE T1.age = 3
SELECT name FROM singer JOIN "Order" ON 1
SELECT singer_id FROM singer JOIN singer_in_concert ON singer.singer_id = singer_in_concert.singer_id
SELECT name FROM singers
SELECT name FROM singer WHERE count(*) > 1
SELECT max(age) AS m FROM singer WHERE m > 1
SELECT max(age) AS m FROM singer GROUP BY m
SELECT sum(count(*)) FROM singer
SELECT name FROM singer ORDER BY count(*)
SELECT name FROM singer ORDER BY 2
SELECT name FROM singer GROUP BY 0
SELECT name, age FROM singer UNION SELECT title FROM concert
SELECT name FROM singer WHERE age = (SELECT year, title FROM concert)
SELECT name FROM singer WHERE age IN (SELECT year, title FROM concert)
SELECT name FROM singer UNION SELECT title FROM concert ORDER BY age
WITH old(n) AS (SELECT name, age FROM singer) SELECT n FROM old
SELECT 1, 2 UNION SELECT * FROM singer
SELECT 1, 2, 3 UNION SELECT * FROM singer_in_concert
SELECT 1, 2, 3 UNION SELECT 1, 2, 3, * FROM singer_in_concert
SELECT 1, 2, 3 UNION SELECT * FROM singer_in_concert JOIN (SELECT singer_id FROM singer) USING (singer_id)
WITH r(k) AS (SELECT 1 UNION ALL SELECT max(k) FROM r) SELECT k FROM r
SELECT name FROM singer JOIN concert USING (name)
SELECT substr(name) FROM singer
SELECT year(age) FROM singer
SELECT name FROM singer WHERE rank() OVER (ORDER BY age) = 1
SELECT lag(rank() OVER ()) OVER () FROM singer
SELECT name FROM singer WHERE [no column of this name] = 1
SELECT * 
SELECT 1 FROM singer WHERE age IN (SELECT year FROM concert GROUP BY singer.name)
VALUES (1, 2), (3)
""".strip("\n").splitlines()
QUOTES: Any = ("names", "strings")
# narrower than SQLite: the page says what is left out
LEFT_OUT = """
SELECT n FROM (SELECT name AS n FROM singer)
SELECT name FROM main.singer
SELECT name FROM singer RIGHT JOIN concert ON 1
SELECT name FROM singer LIMIT (SELECT 1)
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
""".strip().splitlines()


@cache
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for name, columns in TABLES.items():
        connection.execute(
            f'CREATE TABLE "{name}" ({", ".join(map(chr(34).__add__, (c + chr(34) for c in columns)))})'
        )
    return connection


@cache
def compiled(options: tuple[tuple[str, Any], ...] = ()) -> Any:
    return Compiler(BYTES).compile(Grammar.from_sql("sqlite", schema=database(), **dict(options)))


def accepts(query: str, **options: Any) -> bool:
    matcher = compiled(tuple(sorted(options.items()))).matcher()
    return bool(matcher.accept_string(query) and matcher.is_accepting())


def error_of(query: str) -> str | None:
    try:
        database().execute("EXPLAIN " + query).fetchall()
    except sqlite3.Error as error:
        return str(error)
    return None


@pytest.mark.parametrize("query", PREPARED)
def test_what_names_something_passes(query: str) -> None:
    assert error_of(query) is None
    assert accepts(query)


@pytest.mark.parametrize("query", FROM_TABLES)
def test_an_answer_comes_from_tables(query: str) -> None:
    assert error_of(query) is None
    assert accepts(query)


@pytest.mark.parametrize("query", WITHOUT_FROM)
def test_an_answer_from_no_table_is_an_option(query: str) -> None:
    assert error_of(query) is None
    assert not accepts(query) and accepts(query, without_from=True)


@pytest.mark.parametrize("query", STRINGS)
def test_double_quotes_hold_names_alone_by_default(query: str) -> None:
    assert error_of(query) is None
    assert accepts(query, double_quotes="strings", without_from=True)
    for quotes in ('""', "``", "[]"):
        assert not accepts(query.replace('"', quotes[0], 1).replace('"', quotes[1], 1))
    assert accepts('SELECT "name", [age], `singer_id` FROM "singer" WHERE "Age" > 1 ORDER BY "name"')


@pytest.mark.parametrize("query", NOT_PREPARED)
def test_what_sqlite_does_not_prepare_is_refused(query: str) -> None:
    assert error_of(query) is not None
    assert not accepts(query, double_quotes="strings", without_from=True)


def test_what_is_computed_behind_many_blanks_has_no_name() -> None:
    query = f"SELECT 1 FROM (SELECT {' ' * 250}name || 1 FROM singer) AS t WHERE t.name = 1"
    assert error_of(query) is not None
    assert not accepts(query)
    assert accepts(query.replace("|| 1", "AS name"))


@pytest.mark.parametrize("query", LEFT_OUT)
def test_what_the_page_leaves_out_is_refused(query: str) -> None:
    assert error_of(query) is None
    assert not accepts(query)


@pytest.mark.campaign
def test_random_queries_are_prepared_and_never_stuck() -> None:
    words = " SELECT | FROM | JOIN | ON | USING (|, | AS T1| AS T2|T1.|T2.|(SELECT |) |)|count(|*| WHERE | = |1| GROUP BY "
    words += "| ORDER BY | UNION |sum(| IN (|WITH q AS (|q|singer.|concert.|'x'| NATURAL JOIN | OVER (|rank(| LIMIT 1"
    queries = list(random_queries(Grammar.from_sql("sqlite", schema=database()), words, TABLES))
    assert [query for query in queries if error_of(query) is not None] == []
    assert len(queries) >= 10


def test_masks_are_the_texts_that_go_on() -> None:
    check_masks_along(compiled(), b"SELECT T1.name, count(*) FROM singer AS T1 WHERE T1.age > 3 ")


def test_names_of_the_select_list_decide_what_from_may_read() -> None:
    matcher = compiled().matcher()
    assert matcher.accept_string("SELECT T1.age FROM ")
    assert not matcher.fork().accept_string("concert AS T1 ")
    assert matcher.fork().accept_string("concert AS T2 JOIN singer AS T1 ")
    matcher.rollback(0)
    assert matcher.accept_string("singer AS T1") and matcher.is_accepting()


def test_tables_and_columns_can_be_narrowed() -> None:
    assert accepts("SELECT name FROM singer", tables=("singer",))
    assert not accepts("SELECT title FROM concert", tables=("singer",))
    narrowed = {"schema": TABLES, "columns": {"singer": ["name"]}}
    names, strings = (
        Compiler(BYTES).compile(Grammar.from_sql("sqlite", **narrowed, double_quotes=d)) for d in QUOTES
    )

    def passes(query: str, automaton: Any = names) -> bool:
        matcher = automaton.matcher()
        return bool(matcher.accept_string(query) and matcher.is_accepting())

    assert passes("SELECT name FROM singer")
    assert not passes("SELECT age FROM singer") and not passes("SELECT * FROM singer")
    for automaton in names, strings:  # SQLite would read the column
        assert not passes('SELECT name FROM singer WHERE "age" > 3', automaton)
    assert not passes("SELECT singer.age FROM singer")


def test_other_arguments_go_with_a_schema() -> None:
    assert accepts("SELECT name FROM singer LIMIT 5", max_limit=10)
    assert not accepts("SELECT name FROM singer", max_limit=10)
    assert not accepts("SELECT name FROM singer LIMIT 11", max_limit=10)
    assert accepts("SELECT /* who */ name FROM singer", allow_comments=True)
    assert not accepts("SELECT /* who */ name FROM singer")
    assert accepts("CANNOT ANSWER", escape="CANNOT ANSWER") and accepts(
        "SELECT age FROM singer", escape="CANNOT ANSWER"
    )
    assert not accepts("CANNOT ANSWER")
    assert accepts("SELECT lower(name) FROM singer", functions=("lower",))
    assert not accepts("SELECT upper(name) FROM singer", functions=("lower",))


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"schema": 3}, "schema"),
        ({"schema": {}}, "no table"),
        ({"schema": "/no/such/file.db"}, "no such database"),
        ({"schema": TABLES, "tables": ["nothing"]}, "no table"),
        ({"schema": TABLES, "columns": {"singer": ["nothing"]}}, "no column"),
        ({"schema": TABLES, "functions": "any"}, "functions"),
        ({"schema": TABLES, "escape": ""}, "escape"),
        ({"schema": TABLES, "max_limit": -1}, "max_limit"),
        ({"schema": TABLES, "blanks": "none"}, "blanks"),
        ({"blanks": 1}, "blanks"),
        ({"keywords": "lower"}, "keywords: 'lower' is neither 'any' nor 'upper'"),
        ({"profile": "all"}, "profile"),
        ({"profile": "model", "allow_comments": True}, "comments"),
        ({"schema": TABLES, "double_quotes": "both"}, "double_quotes"),
        ({"double_quotes": "strings"}, "double_quotes: has no effect without"),
        ({"without_from": True}, "without_from: has no effect without"),
        ({"schema": TABLES, "without_from": "yes"}, "without_from: 'yes' is neither True nor False"),
        ({"schema": TABLES, "new_names": 1}, "new_names: 1 is neither True nor False"),
        ({"read_only": "no"}, "read_only: 'no' is neither True nor False"),
        ({"blanks": "single", "allow_comments": True}, "comments"),
        ({"schema": TABLES, "functions": ["load_extension"]}, "side effects"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], part: str) -> None:
    with pytest.raises(SQLError, match=part):
        Grammar.from_sql("sqlite", **options)


def test_select_may_name_what_from_makes() -> None:
    for query, passes in (
        ("SELECT n FROM (SELECT name AS n FROM singer)", True),
        ("SELECT max(q.how_many) FROM (SELECT count(*) AS how_many FROM singer GROUP BY age) AS q", True),
        ("SELECT leadSinger.name FROM singer AS leadSinger", True),
        ("SELECT nothing FROM singer", False),
        ("SELECT leadSinger.nothing FROM singer AS leadSinger", False),
        ("SELECT name FROM singer WHERE nothing = 'x'", False),
    ):
        assert (error_of(query) is None) == passes
        assert accepts(query, new_names=True) == passes
        assert not accepts(query)


def test_a_single_blank_is_all_there_may_be() -> None:
    assert accepts("SELECT name FROM singer WHERE 'x' = 'y'", blanks="single")
    for text in ("SELECT  name FROM singer", "SELECT\nname FROM singer", "SELECT name FROM singer "):
        assert accepts(text) and accepts(text, blanks="single") == text.endswith("singer ")


def test_a_model_writes_keywords_in_capitals_and_single_blanks() -> None:
    for query in (
        "SELECT count(*) FROM singer JOIN concert ON year = Age WHERE TRUE GROUP BY name",
        'WITH q AS (SELECT name FROM singer UNION SELECT name FROM "Order") SELECT rank() OVER (ORDER BY name) FROM q',
        "SELECT Name FROM SINGER JOIN singer_in_concert USING (singer_id) WHERE EXISTS (SELECT name COLLATE NOCASE)",
    ):
        assert accepts(query, profile="model") and accepts(query, profile="model", keywords="any")
        for word in set(re.findall(r"\b[A-Z]{2,}\b", query)) - {"SINGER"}:
            small = re.sub(rf"\b{word}\b", word.lower(), query)
            assert accepts(small) and not accepts(small, profile="model"), small
            assert accepts(small, profile="model", keywords="any")
        assert not accepts(query.replace(" ", "  "), profile="model")
        assert accepts(query.replace(" ", "  "), profile="model", blanks="any")


def test_queries_nest_so_deep_and_no_deeper() -> None:
    deep = "SELECT (" * 8 + "SELECT 1" + ")" * 8
    assert accepts(deep, without_from=True)
    assert not accepts("SELECT (" * 20 + "SELECT 1" + ")" * 20, without_from=True)
    stars = "SELECT * FROM (" * 8
    assert accepts("SELECT name FROM singer UNION " + stars + "SELECT name FROM singer" + ")" * 8)
    assert not accepts("SELECT name FROM singer UNION " + stars + "SELECT * FROM singer" + ")" * 8)
