"""``stackmask sql`` on a PostgreSQL server that runs for these tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.campaign import mostly_campaign
from support.postgres_server import NoServer, Server, postgres_server
from typer.testing import CliRunner

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.sql.schema.errors import SQLError
from stackmask.runtime.cli import command_sql
from stackmask.runtime.cli.app import app
from stackmask.runtime.cli.database import Database, QueryError, Reference
from stackmask.runtime.cli.query_process import open_database

GUARD = 600  # seconds: against a hang only
SETUP = """
CREATE TABLE people (id serial PRIMARY KEY, name text, born date, pay numeric(9,2));
INSERT INTO people (name, born, pay) VALUES ('Ann', '1990-05-06', 10.50), ('Bob', NULL, 20), (NULL, 'infinity', NULL);
CREATE TABLE visits (person int REFERENCES people, at timestamptz, PRIMARY KEY (person, at));
CREATE FUNCTION spoil() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM people; RETURN 1; END $$;
CREATE FUNCTION unlock() RETURNS int LANGUAGE plpgsql AS $$
BEGIN SET transaction_read_only = off; DELETE FROM people; RETURN 1; END $$;
CREATE FUNCTION shout() RETURNS int LANGUAGE plpgsql AS $$
BEGIN RAISE WARNING '%', chr(27) || ']0;owned' || chr(7); RETURN 1; END $$;
CREATE FUNCTION fail() RETURNS int LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '%', chr(27) || ']0;owned' || chr(7) || chr(155) || '2J' || chr(8238); RETURN 1; END $$;
"""
WRITES = [
    "DELETE FROM people",
    "INSERT INTO people (name) VALUES ('x')",
    "UPDATE people SET name = 'x'",
    "TRUNCATE people",
    "DROP TABLE people CASCADE",
    "CREATE TABLE t (a int)",
    "CREATE TEMP TABLE t (a int)",
    "WITH d AS (DELETE FROM people RETURNING *) SELECT * FROM d",
    "SELECT * INTO t FROM people",
    "SELECT * FROM people FOR UPDATE",
    "SELECT nextval('people_id_seq')",
    "SELECT setval('people_id_seq', 99)",
    "SELECT spoil()",
    "SELECT unlock()",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SET TRANSACTION READ WRITE",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "COMMIT",
    "COMMIT; DELETE FROM people",
    "SELECT 1; DELETE FROM people",
    "SELECT 1; COMMIT; SET default_transaction_read_only = off; DELETE FROM people",
    "DO $$ BEGIN DELETE FROM people; END $$",
    "COPY people TO '/people'",
    "CALL spoil()",
    "EXECUTE spoil",
    "PREPARE p AS DELETE FROM people",
    "EXPLAIN ANALYZE DELETE FROM people",
    "ANALYZE DELETE FROM people",
    "LOCK TABLE people",
    "VACUUM",
    "",
    "Sure, here is the query",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    try:
        with postgres_server() as running:
            import psycopg

            with psycopg.connect(running.conninfo, autocommit=True) as connection:
                connection.execute(SETUP)
            yield running
    except NoServer as reason:
        pytest.skip(str(reason))


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    opened = open_database(server.url)
    yield opened
    opened.close()


def state(server: Server) -> Any:
    """Return what a change would change."""
    import psycopg

    with psycopg.connect(server.conninfo) as connection:
        return (
            connection.execute("SELECT * FROM people WHERE isfinite(born) ORDER BY id").fetchall(),
            connection.execute("SELECT last_value, is_called FROM people_id_seq").fetchall(),
            connection.execute("SELECT relname FROM pg_class WHERE relname !~ '^pg_' ORDER BY 1").fetchall(),
        )


@pytest.mark.parametrize("query", mostly_campaign(WRITES, 3))
def test_what_would_write_is_refused(server: Server, database: Database, query: str) -> None:
    before = state(server)
    with pytest.raises(QueryError):
        database.run(query, timeout=GUARD, limit=9)
    if "(" not in query and "FOR UPDATE" not in query:  # a plan calls no functions, and locks no rows
        with pytest.raises(QueryError):
            database.plan(query, timeout=GUARD)
    assert database.run("SELECT 1", timeout=GUARD, limit=9).rows == [(1,)]  # and the connection is still good
    assert state(server) == before


def test_the_grammar_knows_the_database(database: Database) -> None:
    from stackmask.runtime.matching.compiler import Compiler
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    automaton = Compiler(vocabulary).compile(command_sql.make_grammar(database))
    for query, passes in (
        ("SELECT name, at FROM people JOIN visits ON person = id", True),
        ("SELECT people.name FROM public.people", True),
        ("SELECT title FROM people", False),
        ("SELECT  name FROM people", False),
    ):
        matcher = automaton.matcher()
        assert bool(matcher.accept_string(query) and matcher.is_accepting()) == passes, query


def test_queries_are_run(database: Database) -> None:
    rows = database.run("SELECT name, born, pay FROM people ORDER BY id;", timeout=GUARD, limit=2)
    assert [str(value) for value in rows.rows[0]] == ["Ann", "1990-05-06", "10.50"]
    assert (list(rows.columns), len(rows.rows), rows.more) == (["name", "born", "pay"], 2, True)
    odd = "SELECT '100%' LIKE '%s%%' AS \"a b\", born, now(), '{\"a\": 1}'::jsonb FROM people WHERE born = 'infinity'"
    assert database.run(odd, timeout=GUARD, limit=2).rows[0][1] == "infinity"
    assert database.run("VALUES (1), (2) -- two", timeout=GUARD, limit=5).rows == [(1,), (2,)]
    assert database.keys().primary["public", "visits"] == ("person", "at")
    assert database.keys().foreign["public", "visits"] == (Reference(("person",), ("public", "people")),)
    with pytest.raises(QueryError, match='PostgreSQL: column "nope" does not exist'):
        database.run("SELECT nope FROM people", timeout=GUARD, limit=1)
    with pytest.raises(QueryError, match="PostgreSQL"):
        database.run("SELECT '\ud800'", timeout=GUARD, limit=1)


@pytest.mark.campaign
@pytest.mark.parametrize(
    "query",
    [
        "SELECT pg_sleep(1000000)",
        "SELECT count(*) FROM generate_series(1, 100000000000)",
        "SELECT set_config('statement_timeout', '0', false), pg_sleep(1000000)",
    ],
)
def test_queries_have_a_time_limit(database: Database, query: str) -> None:
    with pytest.raises(QueryError, match=r"longer than 0.2 s"):  # on no machine any of them ends before
        database.run(query, timeout=0.2, limit=1)
    assert database.run("SELECT 1", timeout=GUARD, limit=1).rows == [(1,)]


@pytest.mark.campaign
@pytest.mark.parametrize(
    "query",
    [
        "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)",
        "SELECT lpad('', 10000000, 'é') FROM generate_series(1, 100)",
        "SELECT array_fill(1::bigint, ARRAY[3000000])",
    ],
)
def test_answers_are_not_larger_than_they_may_be(database: Database, query: str) -> None:
    with pytest.raises(QueryError, match=r"takes more than 16 MiB .*--max-size"):
        database.run(query, timeout=GUARD, limit=100)
    assert database.run("SELECT 1", timeout=GUARD, limit=1).rows == [(1,)]


@pytest.mark.campaign
def test_a_value_that_no_memory_holds(database: Database) -> None:
    """The process receives values whole: its own limit of memory ends that, or the bound of the answer."""
    with pytest.raises(
        QueryError,
        match=r"more than 1,024 MiB of memory|takes more than 16 MiB|out of memory|invalid memory alloc",
    ):
        database.run("SELECT repeat('x', 1000000000)", timeout=GUARD, limit=1)
    assert database.run("SELECT 1", timeout=GUARD, limit=1).rows == [(1,)]


@pytest.mark.campaign
def test_a_lost_connection_is_made_anew(server: Server, database: Database) -> None:
    with pytest.raises(QueryError, match="PostgreSQL: "):
        database.run("SELECT pg_terminate_backend(pg_backend_pid())", timeout=GUARD, limit=1)
    assert database.run("SELECT 1", timeout=GUARD, limit=1).rows == [(1,)]


def test_endless_rows_are_fetched_no_further_than_asked(database: Database) -> None:
    rows = database.run("SELECT generate_series(1, 100000000000)", timeout=GUARD, limit=1500)
    assert list(rows.rows) == [(n,) for n in range(1, 1501)] and rows.more


def test_what_the_server_says_is_shown_not_sent(
    database: Database, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = database.run("SELECT shout()", timeout=GUARD, limit=1)
    assert rows.rows == [(1,)]
    with pytest.raises(QueryError) as found:
        database.run("SELECT fail()", timeout=GUARD, limit=1)
    assert str(found.value) == r"PostgreSQL: \x1b]0;owned\x07\x9b2J\u202e"
    odd = database.run('SELECT 1 AS "\x1b[2J"', timeout=GUARD, limit=1)
    assert odd.columns == ["\x1b[2J"]  # what shows it escapes it: tests/runtime/cli/test_shown.py
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT pg_sleep(1)",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_catalog.pg_read_file('/etc/passwd')",
        "SELECT \"pg_read_file\"('/etc/passwd')",
        "SELECT U&\"pg_re\\0061d_file\"('/etc/passwd')",
        "SELECT * FROM pg_read_file('/etc/passwd')",
        "SELECT pg_read_binary_file('/etc/passwd')",
        "SELECT pg_ls_dir('/')",
        "SELECT pg_stat_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT lo_export(1, '/x')",
        "SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS t (a int)",
        "SELECT dblink_exec('dbname=postgres', 'DROP TABLE people')",
        "SELECT set_config('statement_timeout', '0', false)",
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        "SELECT * FROM ts_stat('SELECT 1')",
        "SELECT pg_terminate_backend(1)",
        "SELECT pg_reload_conf()",
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_notify('a', 'b')",
        "COPY people TO STDOUT",
        "SET statement_timeout = 0",
        "SHOW ALL",
        "LISTEN x",
        "TABLE people; SELECT 1",
    ],
)
def test_harm_that_reading_can_do_is_not_in_the_grammar(query: str) -> None:
    """The server lets some roles do this in a transaction that only reads; no text of the grammar asks for it."""
    assert not command_sql.only_reads(query, "postgres")


def test_plans(database: Database) -> None:
    assert any("Seq Scan on people" in line for line in database.plan("SELECT * FROM people", timeout=GUARD))
    # a plan that ran its query would meet the limit
    database.plan("SELECT pg_sleep(1000000) FROM people", timeout=GUARD)


def test_only_the_driver_that_sends_one_statement() -> None:
    for url, message in (("sqlite+pysqlite:///x.db", "is neither"), ("foo://h/d", "no database is known")):
        with pytest.raises(SQLError, match=message):
            open_database(url)


def test_the_command(server: Server, monkeypatch: pytest.MonkeyPatch, model: Any, tokenizer: Any) -> None:
    query = "SELECT name, pay, born FROM people ORDER BY id LIMIT 2"
    prompts = []
    generate = __import__("stackmask").generate

    def narrowed(model: Any, tokenizer: Any, asked: Any, grammar: Any, **options: Any) -> Any:
        prompts.append(asked[0])
        assert grammar is None or isinstance(grammar, Grammar)
        return generate(model, tokenizer, asked, Grammar.from_ebnf(f'root ::= "{query}"'), **options)

    monkeypatch.setattr(command_sql, "refuse_missing_model", lambda name: None)
    monkeypatch.setattr(command_sql, "load_model", lambda name, **_: (model, tokenizer))
    monkeypatch.setattr("stackmask.runtime.generation.generate", narrowed)

    def call(*options: str) -> Any:
        return CliRunner().invoke(app, ["sql", "who?", "--db", server.url, "--model", "any", *options])

    result = call("--format", "json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == [
        {"name": "Ann", "pay": 10.5, "born": "1990-05-06"},
        {"name": "Bob", "pay": 20, "born": None},
    ]
    assert "A PostgreSQL database" in prompts[0]
    assert (
        "CREATE TABLE people (id integer PRIMARY KEY, name text, born date, pay numeric(9,2));" in prompts[0]
    )
    assert "person integer REFERENCES people" in prompts[0] and "PRIMARY KEY (person, at)" in prompts[0]
    assert "on people" in call("--explain").stdout
    query = "SELECT pg_terminate_backend(1)"
    refused = call("--no-grammar")
    assert refused.exit_code == 1 and "refused, and not run" in refused.stderr
    wrong = CliRunner().invoke(app, ["sql", "who?", "--db", server.url.replace("stackmask@", "nobody:pw@")])
    assert (
        wrong.exit_code == 2 and 'role "nobody" does not exist' in wrong.stderr and "pw" not in wrong.stderr
    )
