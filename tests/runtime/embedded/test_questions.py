"""Training and held-out questions share no wording, and their SQL is right SQL."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

import stackmask
from stackmask.runtime.embedded import bundled_database

SAMPLE = 4000
DIGEST = (
    "6b121364cecaaedd55f2d152a8a3fe647735d66dddf32edbb48f1d960abae398"  # of the first SAMPLE training pairs
)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    found = sqlite3.connect(f"{bundled_database().as_uri()}?mode=ro", uri=True)
    yield found
    found.close()


@pytest.fixture(scope="module")
def training() -> list[Any]:
    from training.make_questions import training_pairs

    return list(training_pairs(SAMPLE))


@pytest.fixture(scope="module")
def held_out() -> list[Any]:
    from training.make_questions import read_held_out

    return list(read_held_out())


def test_pairs_are_repeatable(training: list[Any]) -> None:
    digest = hashlib.sha256()
    for pair in training:
        digest.update(f"{pair.question}\n{pair.sql}\n".encode())
    assert digest.hexdigest() == DIGEST


def test_a_fifth_of_the_frames_is_held_out() -> None:
    from training.drawing import split
    from training.frames import FRAMES

    for name, frames in FRAMES.items():
        train, held = split(name, frames)
        assert not set(train) & set(held)
        assert set(train) | set(held) == set(frames)
        assert len(held) / len(frames) >= 0.14 or len(frames) < 5


def test_no_held_out_frame_or_wording_in_training(training: list[Any], held_out: list[Any]) -> None:
    assert len(held_out) == 200
    frames = {pair.frame for pair in held_out}
    skeletons = {pair.skeleton for pair in held_out}
    assert len(skeletons) == 200
    for pair in training:
        assert pair.frame not in frames
        assert pair.skeleton not in skeletons


def test_held_out_file_is_what_the_generator_draws(held_out: list[Any]) -> None:
    """The file excludes the wordings of the whole training stream; a slice of it gives a superset."""
    from training.make_questions import held_out_pairs

    drawn = held_out_pairs(260, bundled_database(), set())
    assert {pair.question for pair in held_out[:100]} <= {pair.question for pair in drawn}


def test_gold_queries_have_answers(held_out: list[Any], connection: sqlite3.Connection) -> None:
    from training.make_questions import handwritten_pairs

    first, second = handwritten_pairs()
    for pair in [*held_out, *first, *second]:
        rows = connection.execute(pair.sql).fetchall()
        assert rows and rows not in ([(None,)], [(0,)]), pair


def test_training_queries_run(training: list[Any], connection: sqlite3.Connection) -> None:
    for pair in training:
        connection.execute("EXPLAIN " + pair.sql).fetchall()


def test_sql_grammar_holds_every_query(training: list[Any], held_out: list[Any]) -> None:
    vocabulary = stackmask.Vocabulary(
        [*(bytes([i]) for i in range(256)), None], stop_ids=[256], special_ids=[256]
    )
    matcher = stackmask.Compiler(vocabulary).compile(stackmask.Grammar.bundled("sql")).matcher()
    for sql in dict.fromkeys(pair.sql for pair in [*held_out, *training[:400]]):
        matcher.reset()
        assert matcher.accept_string(sql) and matcher.is_accepting(), sql


def test_frames_are_filled(training: list[Any]) -> None:
    for pair in training:
        assert not set("{}[]@<>\x01\x02") & set(pair.question), pair


def test_comparison_of_rows(connection: sqlite3.Connection) -> None:
    from training.evaluate import parses, same_rows

    ordered = "SELECT name FROM categories ORDER BY name"
    backwards = "SELECT name FROM categories ORDER BY name DESC"
    plain = "SELECT name FROM categories"
    assert same_rows(connection, plain, backwards)
    assert not same_rows(connection, ordered, backwards)
    assert not same_rows(connection, plain, "SELECT id FROM categories")
    assert not same_rows(connection, plain, "SELECT name FROM nowhere")
    assert not same_rows(connection, plain, "SELECT name FROM")
    assert parses("SELECT name FROM nowhere")
    assert not parses("SELECT name FROM")
    assert not parses("SELECT 'a")
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
    assert not same_rows(connection, plain, endless)
