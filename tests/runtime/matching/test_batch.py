"""Batches on several threads: the same rows, from any number of callers, with errors, and in a forked process."""

from __future__ import annotations

import os
import random
import sys
from typing import Any

import numpy as np
import pytest
from support.campaign import mostly_campaign
from support.threads import fork, in_threads

import stackmask as sm

SIZE = 1 << 18  # a row is 32 KB, so some dozens are worth a thread
LETTERS: list[bytes | None] = [bytes([b]) for b in range(256)]
EOS = SIZE - 1


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    rng = random.Random(3)
    pieces = {"".join(rng.choices('abc "{}:,01', k=rng.randint(2, 5))).encode() for _ in range(5000)}
    tokens = [*LETTERS, *sorted(pieces)]
    return sm.Vocabulary([*tokens, *[None] * (SIZE - len(tokens))], stop_ids=[EOS])


def compiled_in(vocabulary: sm.Vocabulary, text: str | None = None) -> sm.CompiledGrammar:
    grammar = sm.Grammar.from_ebnf(text) if text else sm.Grammar.bundled("json")
    return sm.Compiler(vocabulary).compile(grammar)


def walked(compiled: sm.CompiledGrammar, count: int, seed: int) -> list[sm.Matcher]:
    """Return matchers at places of their own; every other mask was asked for, twice."""
    rng = random.Random(seed)
    mask = sm.allocate_token_bitmask(1, SIZE)
    matchers = []
    for number in range(count):
        matcher = compiled.matcher()
        for _ in range(rng.randrange(10)):
            matcher.fill_next_token_bitmask(mask)
            choices = np.flatnonzero(np.unpackbits(mask.view(np.uint8)[0], bitorder="little"))
            if not len(choices):
                break
            assert matcher.accept_token(int(rng.choice(choices)))
        for _ in range(0 if number % 2 else 2):
            matcher.fill_next_token_bitmask(mask)
        matchers.append(matcher)
    return matchers


def one_by_one(matchers: list[sm.Matcher | None]) -> np.ndarray[Any, Any]:
    mask = sm.allocate_token_bitmask(len(matchers), SIZE)
    for row, matcher in enumerate(matchers):
        if matcher is None:
            mask[row] = -1
        else:
            matcher.fill_next_token_bitmask(mask, row)
    return mask


@pytest.mark.parametrize("threads", mostly_campaign([1, 2, 3, 1000], 2))
def test_rows_are_equal_on_any_number_of_threads(vocabulary: sm.Vocabulary, threads: int) -> None:
    json, words = compiled_in(vocabulary), compiled_in(vocabulary, 'root ::= ([a-c]{1,9} " ")* "a"?')
    matchers: list[sm.Matcher | None] = [
        *walked(json, 100, 1),
        *walked(words, 100, 2),
        None,
        *walked(json, 30, 3),
    ]
    expected = one_by_one([None if m is None else m.fork() for m in matchers])
    mask = sm.allocate_token_bitmask(len(matchers), SIZE)
    for _ in range(3):
        mask[:] = 0x5A5A5A5A
        assert sm.fill_next_token_bitmask(matchers, mask, threads=threads)
        assert np.array_equal(mask, expected)
    rows = list(range(len(matchers)))
    random.Random(4).shuffle(rows)
    sm.fill_next_token_bitmask(matchers, mask, rows=rows, threads=threads)
    assert np.array_equal(mask[rows], expected)


def test_the_last_matcher_of_a_row_counts(vocabulary: sm.Vocabulary) -> None:
    matchers = walked(compiled_in(vocabulary), 120, 5)
    mask = sm.allocate_token_bitmask(1, SIZE)
    for _ in range(2):
        sm.fill_next_token_bitmask(matchers, mask, rows=[0] * len(matchers), threads=4)
        assert np.array_equal(mask, one_by_one(matchers[-1:]))


class Number:
    """A number of a row, as of an array library: equal ones are not found in a set."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


@pytest.mark.parametrize("threads", [1, 4])
def test_the_last_one_of_a_row_counts_whatever_it_is(vocabulary: sm.Vocabulary, threads: int) -> None:
    matchers: list[sm.Matcher | None] = [*walked(compiled_in(vocabulary), 119, 5), None]
    mask = sm.allocate_token_bitmask(2, SIZE)
    for _ in range(2):
        sm.fill_next_token_bitmask(matchers, mask, rows=[0] * 60 + [1] * 59 + [0], threads=threads)
        assert (mask[0] == -1).all()
        assert np.array_equal(mask[1:], one_by_one(matchers[118:119]))
    matchers = [*walked(compiled_in(vocabulary), 120, 6)]
    for _ in range(2):
        rows: list[Any] = [Number(k & 1) for k in range(120)]
        sm.fill_next_token_bitmask(matchers, mask, rows=rows, threads=threads)
        assert np.array_equal(mask, one_by_one(matchers[118:]))


def test_every_token_allowed_is_told_from_all_threads(vocabulary: sm.Vocabulary) -> None:
    free = compiled_in(vocabulary, f"root ::= <[0-{EOS - 1}]>*")
    matchers = [free.matcher() for _ in range(100)]
    mask = sm.allocate_token_bitmask(len(matchers), SIZE)
    for _ in range(3):
        assert not sm.fill_next_token_bitmask(matchers, mask, threads=3)
    assert (mask == -1).all()


def test_many_callers_at_once(vocabulary: sm.Vocabulary) -> None:
    """Of one compiler they take turns; of several, one has the threads and the others go on alone."""
    shared, own = compiled_in(vocabulary), compiled_in(vocabulary)

    def call(seed: int) -> None:
        matchers = walked([shared, shared, own, shared][seed], 90, seed)
        expected = one_by_one(matchers)
        mask = sm.allocate_token_bitmask(len(matchers), SIZE)
        for _ in range(20):
            mask[:] = 0
            sm.fill_next_token_bitmask(matchers, mask, threads=2)
            assert np.array_equal(mask, expected)

    in_threads(call)


def test_an_error_names_its_matcher_and_leaves_the_others_usable(vocabulary: sm.Vocabulary) -> None:
    fine = walked(compiled_in(vocabulary), 100, 6)
    grammar = sm.Grammar.from_ebnf("""root ::= ([a-c]{2,9} "," [0-9] | '"' [ab]* ":")+""")
    small = sm.Compiler(vocabulary, limits=sm.Limits(max_configurations=4)).compile(grammar)
    matcher = small.matcher()
    mask = sm.allocate_token_bitmask(len(fine) + 1, SIZE)
    for threads in (1, 2):
        try:
            sm.fill_next_token_bitmask([*fine, matcher], mask, threads=threads)
        except sm.BudgetError as error:
            if sys.version_info >= (3, 11):
                assert f"matcher {len(fine)} " in error.__notes__[0]
        else:
            pytest.fail("the limit was not met")
    sm.fill_next_token_bitmask(fine, mask, threads=2)
    assert np.array_equal(mask[: len(fine)], one_by_one(fine))


@pytest.mark.parametrize("threads", [0, -1])
def test_a_batch_needs_a_thread(vocabulary: sm.Vocabulary, threads: int) -> None:
    with pytest.raises(sm.MatcherError, match="needs a thread"):
        sm.fill_next_token_bitmask([], sm.allocate_token_bitmask(1, SIZE), threads=threads)
    with pytest.raises(TypeError):
        sm.fill_next_token_bitmask([], sm.allocate_token_bitmask(1, SIZE), threads="two")  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_threads_of_its_own(vocabulary: sm.Vocabulary) -> None:
    matchers = walked(compiled_in(vocabulary), 100, 7)
    expected = one_by_one(matchers)
    mask = sm.allocate_token_bitmask(len(matchers), SIZE)
    for _ in range(2):
        sm.fill_next_token_bitmask(matchers, mask, threads=3)

    def work() -> None:
        mask[:] = 0
        sm.fill_next_token_bitmask(matchers, mask, threads=3)
        assert np.array_equal(mask, expected)

    assert fork(work) == 0
    work()


def test_an_empty_tensor_has_no_rows_to_write() -> None:
    """A tensor without elements has the address 0; a matcher that is None takes the width of the mask."""
    torch = pytest.importorskip("torch")
    assert sm.fill_next_token_bitmask([None], torch.zeros((1, 0), dtype=torch.int32)) is False
    assert sm.fill_next_token_bitmask([], torch.zeros((0, 4), dtype=torch.int32)) is False
    with pytest.raises(sm.MatcherError, match="out of range"):
        sm.fill_next_token_bitmask([None], torch.zeros((0, 4), dtype=torch.int32))
