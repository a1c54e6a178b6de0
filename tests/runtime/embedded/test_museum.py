"""The second bundled database: nothing of it is in the lessons from which a model learns to read schemas."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import stackmask
from stackmask.grammar.sql.schema.read import read_schema
from stackmask.runtime import embedded
from stackmask.runtime.embedded import (
    EmbeddedModelError,
    bundled_database,
    bundled_names,
    load_embedded,
    prompt_for,
)

DIGEST = "9f1119ecf9955161114e4a20684ab66eb511c72eeffbef735ee86907dce93269"
SHARED = {"id", "name", "title"}  # what every schema has
DRAWN = 20_000
LESSONS = 150


@pytest.fixture
def museum() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{bundled_database('museum').as_uri()}?mode=ro", uri=True)) as connection:
        yield connection


def test_bundled_databases() -> None:
    assert bundled_names() == ("shop", "museum")
    assert bundled_database() == bundled_database("shop")
    with pytest.raises(EmbeddedModelError, match="no bundled database `zoo`; there are shop, museum"):
        bundled_database("zoo")


def test_script_makes_the_same_content(tmp_path_factory: pytest.TempPathFactory) -> None:
    from training.make_database import content_digest
    from training.make_museum import make_museum

    made = make_museum(tmp_path_factory.mktemp("museum") / "museum.sqlite")
    assert content_digest(made) == content_digest(bundled_database("museum")) == DIGEST


def test_rows_are_related(museum: sqlite3.Connection) -> None:
    assert museum.execute("PRAGMA foreign_key_check").fetchall() == []
    assert museum.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_no_name_of_the_museum_is_in_the_lessons(museum: sqlite3.Connection) -> None:
    from training import foreign_words

    known = {
        *foreign_words.THINGS, *foreign_words.NUMBERS, *foreign_words.TEXTS, *foreign_words.DATES, *foreign_words.PREFIXES,
    }  # fmt: skip
    known |= {word + "s" for word in known}
    tables = [name for (name,) in museum.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {row[1] for table in tables for row in museum.execute(f"PRAGMA table_info({table})")}
    assert len(tables) == 4 and len(columns) >= 14
    assert known & ({*tables, *columns} - SHARED) == set()


def test_questions_have_answers(museum: sqlite3.Connection) -> None:
    from training.museum_questions import museum_questions

    vocabulary = stackmask.Vocabulary([*(bytes([i]) for i in range(256)), None], stop_ids=[256])
    matcher = stackmask.Compiler(vocabulary).compile(stackmask.Grammar.from_sql("sqlite")).matcher()
    found = museum_questions()
    assert len({question for question, _ in found}) == 60
    for question, sql in found:
        assert prompt_for(question)
        rows = museum.execute(sql).fetchall()
        assert rows and rows not in ([(None,)], [(0,)]), sql
        matcher.reset()
        assert matcher.accept_string(sql) and matcher.is_accepting(), sql


def test_no_question_is_one_that_lessons_would_ask() -> None:
    """Not even if the museum were a schema of theirs."""
    from training.foreign_questions import Asker
    from training.foreign_schemas import Drawn
    from training.museum_questions import museum_questions

    artists = Drawn("artists", "artist", "artists", "name", True, ["birth_year"], ["nationality"])
    galleries = Drawn("galleries", "gallery", "galleries", "name", False, ["benches"], ["wing"])
    paintings = Drawn(
        "paintings", "painting", "paintings", "title", False, ["insured_value"], ["technique"], ["acquired_on"],
        {"artist_id": artists, "gallery_id": galleries},
    )  # fmt: skip
    restorations = Drawn(
        "restorations", "restoration", "restorations", "id", False, ["expense"], ["workshop"], ["finished_on"],
        {"painting_id": paintings},
    )  # fmt: skip
    tables = [artists, galleries, paintings, restorations]
    for table in tables:
        table.columns = ["id", table.label, *table.numbers, *table.texts, *table.dates, *table.parents]
    asker = Asker(random.Random(5), tables)

    def plain(question: str) -> str:
        return re.sub(r"[^a-z0-9 ]", "", question.lower())

    asked = {plain(asker.ask()[0]) for _ in range(DRAWN)}
    assert len(asked) > 3000
    assert [question for question, _ in museum_questions() if plain(question) in asked] == []


def test_lessons_are_right_sql() -> None:
    from training.foreign_questions import Asker
    from training.foreign_schemas import draw_schema

    rng = random.Random(4)
    for _ in range(LESSONS):
        tables = draw_schema(rng)
        with closing(sqlite3.connect(":memory:")) as connection:
            for table in tables:
                connection.execute(f"CREATE TABLE {table.name} ({', '.join(table.columns)})")
            asker = Asker(rng, tables)
            for _ in range(8):
                question, sql = asker.ask()
                connection.execute("EXPLAIN " + sql)
                assert not re.search(r"[{}<>]", question), question


def test_a_prompt_with_a_schema() -> None:
    prompt = prompt_for(" How many\nx? ", [("a b", ["id", 'c"d']), ("t", ["SELECT", "é"])])
    assert prompt == ' "a b" id "c""d"\n t SELECT "é"\nHow many x?\n'


def test_the_reader_finds_names_in_the_prompt(museum: sqlite3.Connection) -> None:
    if not (Path(embedded.__file__).parent / "reader.safetensors").exists():
        pytest.skip("the weights that read a schema are not part of the package yet")
    model, tokenizer = load_embedded(reading=True)
    schema = read_schema(museum, "sqlite")
    tables = [(table.name, [column.name for column in table.columns]) for table in schema.tables]
    prompt = prompt_for("Please list the names of our galleries", tables)
    (answer,) = stackmask.generate(
        model, tokenizer, [prompt], stackmask.Grammar.from_sql("sqlite"), max_new_tokens=60, do_sample=False
    )
    assert answer.finished and "FROM galleries" in answer.text
