"""PostgreSQL queries over a schema: what a server prepares and what it does not, and that no allowed text is a dead end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from support.postgres_server import NoServer, postgres_server
from support.random_queries import check_masks_along, random_queries

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.grammar.sql.schema.schema import Column, Schema, Table
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
PUBLIC = {
    "singer": ["singer_id", "name", "age", "Mixed Case", "user"],
    "concert": ["concert_id", "title", "year", "stadium id"],
    "singer_in_concert": ["singer_id", "concert_id"],
    "Order": ["id", "select", "name"],
}
OTHER = {"singer": ["stage_name", "age"], "place": ["town"]}
SCHEMA = Schema(
    "postgres",
    tuple(
        Table(
            name,
            tuple(Column(c, "text") for c in columns),
            schema,
            key=("concert_id",) if name == "concert" else (),
        )
        for schema, tables in (("public", PUBLIC), ("other", OTHER))
        for name, columns in tables.items()
    ),
    ("public",),
)
# errors of types, which the grammar does not know: operators, functions, conversions, texts of values
TYPES = {"42883", "42804", "42846", "42725", "42P18", "42P21", "42P22", "22P02", "22007", "22008", "22023"}
PREPARED = """
SELECT name FROM singer
select NAME, age from SINGER where Age > '30' order by name desc limit 3;
SELECT "name", "Mixed Case", singer."user" FROM singer
SELECT T1.name, T2.concert_id FROM singer AS T1 JOIN singer_in_concert AS T2 ON T1.singer_id = T2.singer_id
SELECT title FROM singer_in_concert JOIN concert USING (concert_id), singer
SELECT singer_id FROM singer NATURAL JOIN singer_in_concert
SELECT name FROM public.singer
SELECT singer.stage_name FROM other.singer
SELECT u.stage_name, p.town FROM other.singer u LEFT JOIN other.place AS p ON p.town = u.stage_name
SELECT singer.name FROM singer CROSS JOIN concert RIGHT OUTER JOIN singer_in_concert AS s ON s.concert_id = concert.concert_id
SELECT count(*) FROM (SELECT name FROM singer GROUP BY name HAVING count(*) > 1) AS q
SELECT (SELECT title FROM concert WHERE concert.year = s.age) FROM singer s
SELECT name FROM singer WHERE EXISTS (SELECT 1 FROM singer_in_concert WHERE singer_id = singer.singer_id)
SELECT name FROM singer WHERE singer_id IN (SELECT singer_id FROM singer_in_concert UNION SELECT '3')
WITH old(n, a) AS (SELECT name, age FROM singer), x AS (SELECT n FROM old) SELECT x.n, old.a FROM x JOIN old USING (n)
SELECT name, rank() OVER (PARTITION BY age ORDER BY name) AS place FROM singer ORDER BY place
SELECT age AS a, count(DISTINCT name) AS n FROM singer GROUP BY a HAVING count(*) > 2 ORDER BY n DESC, 1
SELECT name FROM singer UNION SELECT title FROM concert ORDER BY 1
SELECT name FROM singer UNION SELECT title FROM concert ORDER BY name
(SELECT name FROM singer ORDER BY age LIMIT 1) UNION ALL (SELECT title FROM concert LIMIT 1)
SELECT * FROM singer UNION SELECT * FROM singer
SELECT singer.* FROM singer LEFT JOIN concert ON year = age
SELECT name FROM (SELECT name, age FROM singer) AS s WHERE s.age > '3'
SELECT upper(name) AS up, count(*) FROM singer GROUP BY upper(name) ORDER BY count DESC, up
SELECT upper(name), count(*) FROM singer GROUP BY 1
SELECT COALESCE(name,'A  b'), count(*) FROM singer GROUP BY coalesce( NAME, 'A  b' )
SELECT lower(name), name FROM singer GROUP BY name, age ORDER BY max(singer_id)
SELECT T1.name FROM singer T1, LATERAL (SELECT title FROM concert WHERE year = T1.age) AS x
SELECT name FROM singer, generate_series(1, 3) AS n WHERE n > 2
SELECT DISTINCT name FROM singer ORDER BY name
SELECT DISTINCT T1.name AS x FROM singer T1 ORDER BY T1.name, x
SELECT string_agg(name, ',' ORDER BY age) FROM singer
SELECT sum(count(*)) OVER (ORDER BY name) FROM singer GROUP BY name
SELECT name FROM singer WHERE age IN (SELECT year FROM concert ORDER BY singer.name)
SELECT max(age) FROM singer HAVING count(*) > 1
SELECT generate_series(1, 3) AS n, name FROM singer ORDER BY n
SELECT title, upper(year), count(*) FROM concert GROUP BY concert_id HAVING title > 'x' ORDER BY year
SELECT c.*, max(s.singer_id) FROM concert c JOIN singer_in_concert s ON s.concert_id = c.concert_id GROUP BY c.concert_id
SELECT mode() WITHIN GROUP (ORDER BY age) FROM singer
SELECT name::text, CAST(age AS integer), EXTRACT(YEAR FROM age::date) FROM singer FETCH FIRST 3 ROWS ONLY
SELECT a.name FROM singer a JOIN singer b ON a.name = b.name, singer c JOIN singer d ON c.age = d.age
""".strip().splitlines()
FROM_TABLES = """
SELECT (SELECT count(*) FROM singer) + (SELECT count(*) FROM concert)
WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < 9) SELECT k, name FROM r, singer
SELECT name FROM singer WHERE EXISTS (SELECT 1) AND age IN (VALUES ('1'), ('2')) AND name = (SELECT 'x')
(SELECT name FROM singer) UNION (SELECT town FROM other.place)
SELECT name, age FROM singer UNION SELECT * FROM (SELECT age, max(name) AS m FROM singer GROUP BY age) AS q
SELECT name FROM generate_series(1, 2) AS g, singer
""".strip().splitlines()
WITHOUT_FROM = """
SELECT 1
WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r WHERE k < 9) SELECT k FROM r
VALUES (1, 2), (3, 4)
SELECT '1', '2', '3' UNION SELECT * FROM singer_in_concert, (SELECT '3' AS three) AS q
SELECT name FROM singer UNION ALL SELECT 'total'
SELECT name FROM singer UNION (SELECT 'x')
SELECT name FROM singer UNION SELECT * FROM (SELECT 'x' AS y) AS q
SELECT name FROM singer UNION SELECT * FROM (VALUES ('x')) AS q
SELECT 1 FROM generate_series(1, 2) AS g
SELECT 1 FROM (SELECT 1 AS x) AS q, LATERAL (SELECT q.x) AS r
WITH y AS (SELECT 1 AS k) SELECT k FROM y
""".strip().splitlines()
NOT_PREPARED = """
SELECT title FROM singer
SELECT nothing FROM singer
SELECT Mixed Case FROM singer
SELECT "Name" FROM singer
SELECT name FROM "Singer"
SELECT id FROM order
SELECT user.name FROM singer
SELECT T1.title FROM singer AS T1
SELECT stage_name FROM singer
SELECT town FROM place
SELECT singer.name FROM singer AS s
SELECT name FROM singer WHERE T1.age = '3'
SELECT name FROM singer JOIN "Order" ON true
SELECT name FROM singer JOIN concert
SELECT name FROM singers
SELECT name AS n FROM singer WHERE n = 'x'
SELECT name AS n FROM singer ORDER BY n || 'x'
SELECT name FROM singer WHERE count(*) > 1
SELECT age, max(name) FROM singer
SELECT name, count(*) FROM singer GROUP BY age
SELECT name FROM singer GROUP BY age
SELECT coalesce(name, 'A') FROM singer GROUP BY coalesce(name, 'a')
SELECT name || age FROM singer GROUP BY age || name
SELECT age FROM singer GROUP BY age HAVING name = 'x'
SELECT age FROM singer GROUP BY age ORDER BY name
SELECT * FROM singer GROUP BY name
SELECT * FROM singer GROUP BY singer_id
SELECT c.title, s.singer_id FROM concert c JOIN singer_in_concert s ON s.concert_id = c.concert_id GROUP BY c.concert_id
SELECT title FROM (SELECT * FROM concert) AS q GROUP BY concert_id
SELECT name FROM singer WHERE generate_series(1, 3) = 2
SELECT CASE WHEN true THEN generate_series(1, 3) ELSE 1 END FROM singer
SELECT age, (SELECT title FROM concert WHERE year = singer.name) FROM singer GROUP BY age
SELECT age, rank() OVER (ORDER BY name) FROM singer GROUP BY age
SELECT sum(name) OVER () FROM singer GROUP BY age
SELECT max(age) AS m FROM singer GROUP BY m
SELECT sum(count(*)) FROM singer
SELECT name FROM singer ORDER BY count(*)
SELECT name FROM singer ORDER BY 2
SELECT name FROM singer ORDER BY 'x'
SELECT name FROM singer GROUP BY 0
SELECT name AS x, age AS x FROM singer ORDER BY x
SELECT DISTINCT name FROM singer ORDER BY age
SELECT name, age FROM singer UNION SELECT title FROM concert
SELECT name FROM singer WHERE age = (SELECT year, title FROM concert)
SELECT name FROM singer UNION SELECT title FROM concert ORDER BY age
SELECT '1', '2' UNION SELECT * FROM singer
SELECT '1', '2', '3' UNION SELECT * FROM singer_in_concert
SELECT name FROM singer UNION SELECT title FROM concert ORDER BY name || 'x'
WITH old(n, a, x) AS (SELECT name, age FROM singer) SELECT n FROM old
WITH r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r) SELECT k FROM r
WITH RECURSIVE r(k) AS (SELECT 1 UNION ALL SELECT max(k) FROM r) SELECT k FROM r
WITH RECURSIVE r(k) AS (SELECT 1 UNION ALL SELECT k FROM r LIMIT 3) SELECT k FROM r
WITH RECURSIVE r(k) AS (SELECT 1 UNION ALL SELECT 2 FROM singer LEFT JOIN r ON true) SELECT k FROM r
SELECT name FROM singer JOIN concert USING (name)
SELECT substr(name) FROM singer
SELECT year(age) FROM singer
SELECT name FROM singer WHERE rank() OVER (ORDER BY age) = 1
SELECT lag(rank() OVER ()) OVER () FROM singer
SELECT name FROM singer, (SELECT title FROM concert WHERE year = singer.age) AS x
SELECT name FROM singer RIGHT JOIN LATERAL (SELECT singer.age) AS x ON true
SELECT name FROM singer, concert JOIN singer_in_concert ON singer.singer_id = singer_in_concert.singer_id
SELECT title FROM (SELECT title, title FROM concert) AS q
SELECT name FROM singer JOIN singer ON true
SELECT name FROM singer, (SELECT '1' AS ctid) AS q WHERE ctid = '1'
SELECT name FROM singer, (SELECT '1' AS "xmin") AS q WHERE xmin = '1'
SELECT name FROM singer LIMIT -1,
SELECT lower FROM (SELECT lower(title) FROM concert) AS a, (SELECT lower(title) FROM concert) AS b
SELECT *
VALUES (1, 2), (3)
""".strip("\n").splitlines()
# narrower than PostgreSQL: the page says what is left out
LEFT_OUT = """
SELECT n FROM (SELECT name AS n FROM singer) AS q
SELECT name FROM singer FULL JOIN concert ON year = age
SELECT name FROM (singer JOIN concert ON year = age)
SELECT singer FROM singer
SELECT name FROM singer ORDER BY name COLLATE "C"
WITH old(n) AS (SELECT name, age FROM singer) SELECT n FROM old
SELECT upper(name) || 'x' FROM singer GROUP BY upper(name)
SELECT name FROM singer LIMIT (SELECT 1)
""".strip().splitlines()


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    try:
        with postgres_server() as running:
            import psycopg

            with psycopg.connect(running.conninfo, autocommit=True) as opened:
                opened.execute("CREATE SCHEMA other")
                for table in SCHEMA.tables:
                    columns = ", ".join(f'"{column.name}" text' for column in table.columns)
                    key = f", PRIMARY KEY ({table.key[0]})" if table.key else ""
                    opened.execute(f'CREATE TABLE {table.schema}."{table.name}" ({columns}{key})')
                yield opened
    except NoServer as reason:
        pytest.skip(str(reason))


@cache
def compiled(options: tuple[tuple[str, Any], ...] = ()) -> Any:
    return Compiler(BYTES).compile(Grammar.from_sql("postgres", schema=SCHEMA, **dict(options)))


def accepts(query: str, **options: Any) -> bool:
    matcher = compiled(tuple(sorted(options.items()))).matcher()
    return bool(matcher.accept_string(query) and matcher.is_accepting())


def error_of(connection: Any, query: str) -> Any:
    """Return the error of a query that the server does not prepare."""
    import psycopg

    try:
        connection.execute("EXPLAIN " + query)
    except psycopg.Error as error:
        return error
    return None


@pytest.mark.parametrize("query", PREPARED)
def test_what_names_something_passes(query: str, connection: Any) -> None:
    assert error_of(connection, query) is None
    assert accepts(query)


@pytest.mark.parametrize("query", FROM_TABLES)
def test_an_answer_comes_from_tables(query: str, connection: Any) -> None:
    assert error_of(connection, query) is None
    assert accepts(query)


@pytest.mark.parametrize("query", WITHOUT_FROM)
def test_an_answer_from_no_table_is_an_option(query: str, connection: Any) -> None:
    assert error_of(connection, query) is None
    assert not accepts(query) and accepts(query, without_from=True)


def test_names_in_double_quotes_exist() -> None:
    assert accepts('SELECT "name" FROM "singer" WHERE "Mixed Case" = \'x\'')
    for query in (
        'SELECT "salary" FROM singer',
        "SELECT count(*) FROM singer WHERE \"agee\" > '60'",
        'SELECT name FROM singer ORDER BY "salry"',
        'SELECT name FROM "singers"',
        'SELECT "Name" FROM singer',
    ):
        assert not accepts(query) and not accepts(query, without_from=True)
    with pytest.raises(SQLError, match="double_quotes: PostgreSQL reads names alone"):
        Grammar.from_sql("postgres", schema=SCHEMA, double_quotes="strings")


def test_a_model_writes_keywords_in_capitals() -> None:
    query = "SELECT EXTRACT(YEAR FROM DATE '2024-01-01'), name::TEXT FROM singer JOIN concert ON TRUE WHERE name ILIKE 'x'"
    query += " UNION SELECT '1', title FROM concert JOIN singer_in_concert USING (concert_id) LIMIT 5"
    query = query.replace("::TEXT", "::VARCHAR")
    assert accepts(query) and accepts(query, profile="model")
    for word in set(re.findall(r"\b[A-Z]{2,}\b", query)):
        small = re.sub(rf"\b{word}\b", word.lower(), query)
        assert accepts(small) and not accepts(small, profile="model"), small


@pytest.mark.parametrize("query", NOT_PREPARED)
def test_what_postgres_does_not_prepare_is_refused(query: str, connection: Any) -> None:
    assert error_of(connection, query) is not None
    assert not accepts(query, without_from=True)


@pytest.mark.parametrize("query", LEFT_OUT)
def test_what_the_page_leaves_out_is_refused(query: str, connection: Any) -> None:
    assert error_of(connection, query) is None
    assert not accepts(query)


WORDS = (
    " SELECT | FROM | JOIN | ON 'x' = | USING (|, | AS T1| AS T2|T1.|T2.|(SELECT |) |)|count(|*| WHERE 'x' = | = |'1'| GROUP BY "
    "| ORDER BY | UNION |max(| IN (|WITH q AS (|q|singer.|concert.|'x'| NATURAL JOIN | OVER (|rank(| LIMIT 1| HAVING 'x' = |DISTINCT "
    "|, LATERAL (SELECT | RIGHT JOIN |public.|other.|town|stage_name|lower(| AS name|1"
)


@pytest.mark.campaign
def test_random_queries_fail_for_types_alone_and_are_never_stuck(connection: Any) -> None:
    ended = prepared = 0
    for query in random_queries(Grammar.from_sql("postgres", schema=SCHEMA), WORDS, PUBLIC):
        ended += 1
        error = error_of(connection, query)
        assert error is None or error.sqlstate in TYPES, (query, error)
        prepared += error is None
    assert ended >= 10 and prepared >= 5


def test_masks_are_the_texts_that_go_on() -> None:
    query = b"SELECT T1.age, count(*) FROM singer AS T1 WHERE T1.name > 'x' GROUP BY age ORDER BY "
    check_masks_along(compiled(), query)


def test_tables_and_columns_can_be_narrowed() -> None:
    assert accepts("SELECT name FROM singer", tables=("singer",))
    assert not accepts("SELECT title FROM concert", tables=("singer",))
    assert not accepts("SELECT singer.stage_name FROM other.singer", tables=("singer",))
    assert accepts("SELECT singer.stage_name FROM other.singer", tables=("other.singer",))
    grammar = Grammar.from_sql("postgres", schema=SCHEMA, columns={"singer": ["name"]})
    automaton = Compiler(BYTES).compile(grammar)
    for query, passes in (("name", True), ("age", False), ("*", False), ("singer.age", False)):
        matcher = automaton.matcher()
        assert bool(matcher.accept_string(f"SELECT {query} FROM singer") and matcher.is_accepting()) == passes


def test_other_arguments_go_with_a_schema() -> None:
    assert accepts("SELECT name FROM singer LIMIT 5", max_limit=10)
    assert not accepts("SELECT name FROM singer", max_limit=10)
    assert not accepts("SELECT name FROM singer LIMIT 11", max_limit=10)
    assert accepts("SELECT /* who */ name FROM singer", allow_comments=True)
    assert not accepts("SELECT /* who */ name FROM singer")
    assert accepts("CANNOT ANSWER", escape="CANNOT ANSWER")
    assert accepts("SELECT lower(name) FROM singer", functions=("lower",))
    assert not accepts("SELECT upper(name) FROM singer", functions=("lower",))
    assert accepts("SELECT name FROM singer WHERE 'x' = 'y'", blanks="single")
    for text in ("SELECT  name FROM singer", "SELECT\nname FROM singer", "SELECT 'a'\n\n'b' FROM singer"):
        assert accepts(text) and not accepts(text, blanks="single")


NEW_NAMES = (
    ("SELECT n FROM (SELECT name AS n FROM singer) AS q", True),
    ("SELECT max(q.how_many) FROM (SELECT count(*) AS how_many FROM singer GROUP BY age) AS q", True),
    ("SELECT leadSinger.name FROM singer AS leadSinger", True),
    ("SELECT nothing FROM singer", False),
    ("SELECT leadSinger.nothing FROM singer AS leadSinger", False),
    ("SELECT name FROM singer WHERE nothing = 'x'", False),
    ("SELECT ctid FROM singer, (SELECT '1' AS x) AS q", False),
)


@pytest.mark.parametrize(("query", "passes"), NEW_NAMES)
def test_select_may_name_what_from_makes(query: str, passes: bool, connection: Any) -> None:
    assert (error_of(connection, query) is None) == passes or "ctid" in query
    assert accepts(query, new_names=True) == passes
    assert not accepts(query)


def test_queries_nest_so_deep_and_no_deeper() -> None:
    assert accepts("SELECT (" * 8 + "SELECT 1" + ")" * 8, without_from=True)
    assert not accepts("SELECT (" * 20 + "SELECT 1" + ")" * 20, without_from=True)
    for depth in (8, 9):  # at the last depth a query must still be able to read a table
        part = "SELECT name FROM singer UNION SELECT title FROM concert"
        for _ in range(depth):
            part = f"({part}) UNION SELECT name FROM singer"
        assert accepts(part) == (depth == 8)
