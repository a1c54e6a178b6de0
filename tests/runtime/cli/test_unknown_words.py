"""The note beside an answer whose question has words that the database does not know."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.postgres_server import NoServer, postgres_server
from typer.testing import CliRunner

from stackmask.runtime.cli import command_sql, loading
from stackmask.runtime.cli.app import app
from stackmask.runtime.cli.command_sql import note_unknown_words
from stackmask.runtime.cli.database import QueryError
from stackmask.runtime.cli.query_process import open_directly
from stackmask.runtime.embedded import bundled_database
from stackmask.runtime.generation.errors import GenerationError

GUARD = 600.0  # seconds: against a hang only
TABLES = """
CREATE TABLE orders (id INTEGER, status TEXT, "Customer Name" TEXT, note TEXT);
INSERT INTO orders VALUES (1, 'shipped', 'Ada Öst', 'x'), (2, 'cancelled', 'Bob', NULL), (3, 'shipped', 'Eve', 'a Bottle-Opener');
"""
CLOSED = "`open` is not a value of orders.status; these are: cancelled, shipped"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_sql, "SECONDS", GUARD)


@pytest.fixture
def database(tmp_path: Path) -> Any:
    path = tmp_path / "orders.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
    found = open_directly(path)
    yield found
    found.close()


CASES = [
    ("How many orders are open?", CLOSED),
    ("How many Orders are OPEN?", CLOSED.replace("open", "OPEN", 1)),
    ("how many orders were shipped, and how many are cancelled", None),
    ("What did Bob order?", None),
    ("Which customer's names have a bottle?", None),
    ("Orders of Öst", None),
    ("Orders of Ådal", "`Ådal` is not a value of orders.status; these are: cancelled, shipped"),
    ("asdf qwer", "no table, column or value has the word `asdf` or `qwer`"),
    ("asdf' OR 1=1; --*[^%_", "`asdf` is not a value of orders.status; these are: cancelled, shipped"),
    ("", None),
]


@pytest.mark.parametrize(("question", "note"), CASES)
def test_words_that_nothing_has_are_named(question: str, note: str | None, database: Any) -> None:
    assert note_unknown_words(question, "SELECT COUNT(*) FROM orders", database) == note


@pytest.mark.campaign
def test_postgres_is_asked_in_its_own_words() -> None:
    try:
        with postgres_server() as server:
            import psycopg

            with psycopg.connect(server.conninfo, autocommit=True) as connection:
                connection.execute(TABLES)
                connection.execute("CREATE TYPE mood AS ENUM ('glad', 'sad')")
                connection.execute("CREATE TABLE people (mood mood, born date, pay numeric, tags text[])")
                connection.execute("INSERT INTO people (mood) VALUES ('glad')")
            with closing(open_directly(server.url)) as database:
                for question, note in CASES:
                    assert note_unknown_words(question, "SELECT COUNT(*) FROM orders", database) == note
                asked = note_unknown_words(
                    "How many people are glad?", "SELECT COUNT(*) FROM people", database
                )
                assert asked is None
    except NoServer as reason:
        pytest.skip(str(reason))


def test_no_value_is_read_for_words_that_names_know(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "run", None)
    query = "SELECT COUNT(*) FROM orders"
    assert note_unknown_words("How many orders with each status are there?", query, database) is None


def test_reading_values_is_bounded(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def run(query: str, *, timeout: float, limit: int, **_: Any) -> Any:
        given.append(timeout)
        raise QueryError("longer than the time")

    monkeypatch.setattr(database, "run", run)
    assert note_unknown_words("open?", "SELECT COUNT(*) FROM orders", database) is None
    assert len(given) == 1 and 0 < given[0] <= GUARD
    monkeypatch.setattr(command_sql, "MOST_COLUMNS", 2)
    assert note_unknown_words("open?", "SELECT COUNT(*) FROM orders", database) is None
    assert len(given) == 1


def test_the_held_out_questions_of_the_shop_have_no_note() -> None:
    from training.make_questions import read_held_out

    with closing(open_directly(bundled_database())) as database:
        noted = [p.question for p in read_held_out() if note_unknown_words(p.question, p.sql, database)]
    assert noted == []


def test_the_command_says_so_beside_the_answer() -> None:
    result = CliRunner().invoke(app, ["sql", "How many orders are open?"])
    assert (result.exit_code, "1150" in result.stdout) == (0, True), result.output
    assert "note: `open` is not a value of orders.status; these are: cancelled, delivered" in result.stderr
    result = CliRunner().invoke(app, ["sql", "How many orders are pending?"])
    assert "WHERE status = 'pending'" in result.stdout and result.stderr == ""


def test_a_model_of_the_hub_is_refused_at_once_where_the_hub_is_out_of_reach(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with closing(__import__("socket").create_server(("127.0.0.1", 0))) as server:
        place = f"http://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", place)
        loading.refuse_missing_model("owner/model")
    for get in (loading.refuse_missing_model, loading.load_model, loading.load_tokenizer):
        with pytest.raises(GenerationError, match="it is not on this machine, and http://127") as error:
            get("owner/model")
        assert len(str(error.value).splitlines()) == 1
    result = CliRunner().invoke(app, ["sql", "How many?", "--model", "owner/model"])
    assert (result.exit_code, result.stdout) == (2, "") and len(result.stderr.splitlines()) == 1
    monkeypatch.setattr(loading, "CONNECT_SECONDS", 0.01)
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: threading.Event().wait(GUARD))
    with pytest.raises(GenerationError, match="cannot be reached"):  # a look-up that does not end
        loading.refuse_missing_model("owner/model")
