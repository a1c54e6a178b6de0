"""The work of a request: counted, limited, cancelled."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import stackmask as sm
from stackmask.pda.errors import BudgetError, CancelledError

# each state is a set of many of the rules' places, and each letter leads to another one
NET = "root ::= r0\n" + "".join(
    f"r{i} ::= [a-z] r{(7 * i + 1) % 40} | [a-m] r{(3 * i + 2) % 40} | r{(5 * i + 3) % 40} [g-z] |\n"
    for i in range(40)
)
HONEST = '{"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}'
TEXT = '{"name": "a", "size": 12}'


def letters() -> sm.Vocabulary:
    tokens = [bytes([i]) for i in range(256)]
    tokens += [bytes([a, b]) for a in range(97, 123) for b in range(97, 123)]
    return sm.Vocabulary([*tokens, b""], stop_ids=[len(tokens)])


def net() -> sm.Grammar:
    """Return the grammar, made ready: what that takes is part of the request."""
    grammar = sm.Grammar.from_ebnf(NET)
    assert grammar.normalized
    return grammar


def scarce(units: int) -> sm.Limits:
    """Return limits that leave so many units for compiling ``net()`` and its masks."""
    return sm.Limits(max_work=net().work + units)


def masks_until_refused(compiler: sm.Compiler, text: str = "abcxyz" * 40) -> tuple[int, str, int]:
    """Return how many masks were made, which limit ended it, and the units that were left."""
    vocabulary = compiler.vocabulary
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    matcher = compiler.compile(net()).matcher()
    for number, letter in enumerate(text.encode()):
        try:
            matcher.fill_next_token_bitmask(mask)
            matcher.accept_token(letter)
        except BudgetError as error:
            return number, error.limit, matcher.account.left
    return len(text), "", matcher.account.left


def test_the_outcome_is_the_same_every_time() -> None:
    vocabulary = letters()
    limits = scarce(60_000)
    outcomes = {masks_until_refused(sm.Compiler(vocabulary, limits=limits)) for _ in range(3)}
    assert len(outcomes) == 1
    ((masks, limit, _),) = outcomes
    assert limit == "max_work"
    assert masks < 240


@pytest.mark.campaign
def test_a_request_that_was_refused_goes_on_with_more_work() -> None:
    vocabulary = letters()
    mask, right = (sm.allocate_token_bitmask(1, vocabulary.size) for _ in range(2))
    free = sm.Compiler(vocabulary).compile(net()).matcher()
    held = sm.Compiler(vocabulary, limits=scarce(60_000)).compile(net()).matcher()
    refused = 0
    calls = [partial(held.fill_next_token_bitmask, mask), held.accept_token]
    for letter in b"abcxyz" * 10:
        free.fill_next_token_bitmask(right)
        for call, given in zip(calls, ([], [letter]), strict=True):
            while True:
                try:
                    call(*given)
                    break
                except BudgetError:
                    refused += 1
                    assert refused < 1000
                    held.account.grant(60_000 * refused)
        free.accept_token(letter)
        assert np.array_equal(mask, right)
    assert refused


def test_what_is_known_costs_no_work() -> None:
    vocabulary = letters()
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    compiled = compiler.compile(sm.Grammar.from_json_schema(HONEST))

    def run() -> int:
        matcher = compiled.matcher()
        for byte in TEXT.encode():
            matcher.fill_next_token_bitmask(mask)
            assert matcher.accept_token(byte)
        return int(matcher.account.allowance - matcher.account.left)

    run()
    assert run() == 0


def test_forks_are_one_request() -> None:
    compiler = sm.Compiler(letters())
    matcher = compiler.compile(net()).matcher()
    assert matcher.fork().account is matcher.account


def test_a_cancelled_request_makes_no_masks() -> None:
    vocabulary = letters()
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    matcher = compiler.compile(net()).matcher()
    other = compiler.compile(net()).matcher()
    matcher.cancel()

    def work() -> None:
        for letter in b"abcxyz" * 200:
            matcher.fill_next_token_bitmask(mask)
            matcher.accept_token(letter)
            matcher.rollback()
            matcher.accept_token(letter)

    with pytest.raises(CancelledError):
        work()
    other.fill_next_token_bitmask(mask)
    assert other.accept_token(97)
