"""Rows are followed to the right matcher, through any reordering, with matchers that simply write down tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmask.runtime.generation import processor as processing
from stackmask.runtime.generation.processor import RowTracker, Track


class Recorder:
    """A matcher that takes every token, and a grammar of it."""

    forks = 0

    def __init__(self, tokens: Sequence[int] = ()) -> None:
        self.tokens = list(tokens)

    def matcher(self) -> Recorder:
        return Recorder()

    def accept_token(self, token: int) -> bool:
        self.tokens.append(token)
        return True

    def rollback(self, count: int) -> None:
        assert 0 < count <= len(self.tokens)
        del self.tokens[-count:]

    def fork(self) -> Recorder:
        Recorder.forks += 1
        return Recorder(self.tokens)

    def is_terminated(self) -> bool:
        return False


def advance(tracker: RowTracker, ids: Any, **options: bool) -> list[Any]:
    """Advance, and return the tokens that each row's matcher has seen."""

    def read(columns: Sequence[int] | None) -> Any:
        return ids if columns is None else ids[:, list(columns)]

    tracks = tracker.advance(len(ids), ids.shape[1], read, **options)
    return [None if track is None else track.matcher.tokens for track in tracks]


def tracker_for(grammar: Recorder | None = None) -> RowTracker:
    grammar = grammar or Recorder()
    return RowTracker(lambda batch: [grammar] * batch)


@settings(deadline=None, derandomize=True)
@given(st.data(), st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32))
def test_beams(data: st.DataObject, prompts: int, beams: int, letters: int, seed: int) -> None:
    """Beams are chosen at random, also one several times; few letters make rows that end alike."""
    rng = np.random.default_rng(seed)
    width = data.draw(st.integers(1, 6))
    start = rng.integers(0, 2, (prompts, width)).repeat(beams, axis=0)
    tracker, ids = tracker_for(), start
    assert advance(tracker, ids) == [[]] * len(ids)
    for _ in range(data.draw(st.integers(1, 60))):
        parents = np.concatenate([p * beams + rng.integers(0, beams, beams) for p in range(prompts)])
        ids = np.concatenate([ids[parents], rng.integers(0, letters, (len(ids), 1))], axis=1)
        assert advance(tracker, ids) == ids[:, width:].tolist()


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 4), st.integers(0, 2**32), st.integers(1, 40))
def test_going_back(rows: int, seed: int, rounds: int) -> None:
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 9, (rows, 3))
    tracker = tracker_for()
    advance(tracker, ids)
    for _ in range(rounds):
        for _ in range(rng.integers(1, 5)):
            ids = np.concatenate([ids, rng.integers(0, 3, (rows, 1))], axis=1)
            assert advance(tracker, ids, drafting=True) == ids[:, 3:].tolist()
        keep = rng.integers(3, ids.shape[1])
        ids = np.concatenate([ids[:, :keep], rng.integers(0, 3, (rows, 1))], axis=1)
        assert advance(tracker, ids, drafting=True) == ids[:, 3:].tolist()


@pytest.mark.parametrize("column", [0, 36, 99])
def test_another_prompt_of_the_same_width_is_a_new_call(column: int) -> None:
    """Everything but one token of the prompt is as if the call went on."""
    ids = np.arange(100).reshape(1, 100)
    tracker = tracker_for()
    advance(tracker, ids)
    for token in (7, 7, 7):
        ids = np.concatenate([ids, [[token]]], axis=1)
        advance(tracker, ids)
    other = np.concatenate([ids, [[7]]], axis=1)
    other[0, column] += 1
    assert advance(tracker, other) == [[]]


def test_rows_that_stay_are_not_copied() -> None:
    ids = np.zeros((4, 2), dtype=np.int64)
    tracker = tracker_for()
    advance(tracker, ids)
    Recorder.forks = 0
    for step in range(50):
        ids = np.concatenate([ids, (np.arange(4) % (step + 1)).reshape(4, 1)], axis=1)
        advance(tracker, ids)
    assert Recorder.forks == 0


def test_few_columns_are_read_however_long_the_rows_are() -> None:
    read_columns: list[int] = []
    ids = np.zeros((4, 3), dtype=np.int64)
    tracker = tracker_for()
    rng = np.random.default_rng(0)
    for _ in range(300):

        def read(columns: Sequence[int] | None, ids: Any = ids) -> Any:
            read_columns.append(ids.shape[1] if columns is None else len(columns))
            return ids if columns is None else ids[:, list(columns)]

        tracker.advance(4, ids.shape[1], read)
        ids = np.concatenate([ids[rng.integers(0, 4, 4)], rng.integers(0, 3, (4, 1))], axis=1)
    assert max(read_columns) <= processing.PROBES + processing.RECENT + 4


def test_history_is_bounded() -> None:
    track = Track(Recorder())
    for token in range(5 * processing.HISTORY):
        track.push(token)
    assert processing.HISTORY <= len(track.tokens) <= 2 * processing.HISTORY
    track.rewind(4 * processing.HISTORY + 1)
    assert track.tokens[-1] == 4 * processing.HISTORY
    assert track.accepted == track.depth == len(track.matcher.tokens)  # type: ignore[attr-defined]
