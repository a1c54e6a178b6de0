"""Recursion and ambiguity of every kind, at lengths where a stack or a table would give way."""

from __future__ import annotations

import numpy as np
import pytest

import stackmask as sm

BYTES = [bytes([b]) for b in range(256)]
STOP = 256


def compile_text(text: str, **limits: int) -> sm.CompiledGrammar:
    vocabulary = sm.Vocabulary([*BYTES, None, b"aa", b"a" * 16, b"((", b"))"], stop_ids=[STOP])
    return sm.Compiler(vocabulary, limits=sm.Limits(**limits)).compile(sm.Grammar.from_ebnf(text))


def allowed(matcher: sm.Matcher) -> set[int]:
    mask = sm.allocate_token_bitmask(1, 261)
    matcher.fill_next_token_bitmask(mask)
    return set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[:261]).tolist())


@pytest.mark.parametrize(
    "text",
    [
        'root ::= "a" root | "a"',
        'root ::= root "a" | "a"',
        'root ::= x "a" | "a"  x ::= root',
        'root ::= e root "a" | "a"  e ::= "b"?',
        'root ::= "a" x | "a"  x ::= root',
        'root ::= "a"+',
        'root ::= "a"{1,1000000}',
    ],
    ids=["right", "left", "indirect left", "hidden left", "indirect right", "loop", "counter"],
)
def test_linear_recursion_is_flat_in_length(text: str) -> None:
    compiled = compile_text(text)
    matcher = compiled.matcher()
    assert matcher.accept_string("a" * 100_000), matcher.refusal
    assert matcher.is_accepting()
    assert {ord("a"), STOP, 257, 258} <= allowed(matcher)
    assert not matcher.accept_string("c")


def test_a_deep_stack_opens_and_closes() -> None:
    matcher = compile_text('root ::= "(" root ")" | "x"').matcher()
    assert matcher.accept_string("(" * 100_000 + "x")
    assert allowed(matcher) == {ord(")"), 260}
    assert matcher.accept_string(")" * 99_999)
    assert allowed(matcher) == {ord(")")}
    assert matcher.accept_string(")")
    assert allowed(matcher) == {STOP}


@pytest.mark.parametrize(
    "text",
    [
        'root ::= root root | "a"',
        'root ::= root root root | root root | "a" | "b"',
        'root ::= x*  x ::= "a"* "a"*',
        'root ::= x x x  x ::= "a"* | x "a"',
    ],
)
def test_ambiguity_stays_polynomial(text: str) -> None:
    matcher = compile_text(text).matcher()
    for _ in range(60):
        assert matcher.accept_string("aa")
        assert {ord("a"), STOP, 257, 258} <= allowed(matcher)


def test_nullable_rules_and_loops_end() -> None:
    matcher = compile_text('root ::= (x* y?)* "b"  x ::= y? z?  y ::= "a"?  z ::= (())*').matcher()
    assert allowed(matcher) == {ord("a"), ord("b"), 257, 258}
    assert matcher.accept_string("aaaab") and matcher.is_accepting()


def test_too_many_configurations_is_an_error_that_names_the_limit() -> None:
    matcher = compile_text('root ::= "(" root ")" | "x"', max_configurations=500).matcher()
    assert matcher.accept_string("(((")
    with pytest.raises(sm.BudgetError, match="max_configurations"):
        matcher.accept_string("(" * 1000)
    # the matcher stays where it was, and usable where it has been
    assert matcher.accept_calls == 1
    matcher.rollback(1)
    assert matcher.accept_string("((") and matcher.accept_string("(")
