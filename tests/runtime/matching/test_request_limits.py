"""A request's work begins with its text; compiling can be cancelled."""

from __future__ import annotations

import threading

import pytest

import stackmask as sm
from stackmask.pda.errors import BudgetError, CancelledError

TEXT = (
    "root ::= r0\n" + "".join(f'r{i} ::= [a-c] r{i + 1} | "b" r0 |\n' for i in range(80)) + "r80 ::= [d-e]\n"
)


def letters() -> sm.Vocabulary:
    return sm.Vocabulary([*(bytes([i]) for i in range(256)), b""], stop_ids=[256])


def test_reading_is_part_of_the_request() -> None:
    compiler = sm.Compiler(letters())
    grammar = sm.Grammar.from_ebnf(TEXT)
    account = compiler.compile(grammar).matcher().account
    assert account.allowance - account.left >= grammar.work > 0


def test_a_grammar_that_costs_less_leaves_more() -> None:
    compiler = sm.Compiler(letters())
    dear = compiler.compile(sm.Grammar.from_ebnf('root ::= "a"' + " #" + "a" * 50 + '\nx ::= "b" "c"\n' * 1))
    cheap = compiler.compile(sm.Grammar.from_choices(["a"]))
    assert cheap is dear
    assert dear.matcher().account.allowance - dear.matcher().account.left < 1000


def test_the_limits_of_a_grammar_hold_in_its_compiler() -> None:
    compiler = sm.Compiler(letters(), limits=sm.Limits(max_work=100_000))
    with pytest.raises(BudgetError, match="max_work"):
        compiler.compile(sm.Grammar.from_ebnf(TEXT))
    matcher = compiler.compile(sm.Grammar.from_ebnf(TEXT, limits=sm.Limits())).matcher()
    assert matcher.account.left > 100_000
    assert matcher.accept_string("ab")


def test_what_one_compiler_refuses_another_one_compiles() -> None:
    grammar = sm.Grammar.from_ebnf(TEXT)
    for _ in range(3):  # nothing of a refused call is kept
        with pytest.raises(BudgetError, match="max_work"):
            sm.Compiler(letters(), limits=sm.Limits(max_work=100_000)).compile(grammar)
    assert sm.Compiler(letters()).compile(grammar).matcher().accept_string("ab")


def test_compiling_can_be_cancelled() -> None:
    compiler = sm.Compiler(letters())
    event = threading.Event()
    event.set()
    grammar = sm.Grammar.from_ebnf(TEXT)
    with pytest.raises(CancelledError):
        compiler.compile(grammar, cancel=event)
    event.clear()
    assert compiler.compile(grammar, cancel=event).matcher().accept_string("ab")


def test_lowering_can_be_cancelled() -> None:
    compiler = sm.Compiler(letters())
    grammar = sm.Grammar.from_choices([f"{i:06}" for i in range(20_000)])
    assert grammar.normalized
    event = threading.Event()
    event.set()
    with pytest.raises(CancelledError):
        compiler.compile(grammar, cancel=event)
    event.clear()
    assert compiler.compile(grammar, cancel=event).matcher().accept_string("000123")


def test_a_cancelled_request_is_told_from_others() -> None:
    compiler = sm.Compiler(letters())
    event = threading.Event()
    matcher = compiler.compile(sm.Grammar.from_ebnf('root ::= "a"*'), cancel=event).matcher()
    event.set()  # after it was compiled: the matcher has its own way to be cancelled
    assert not matcher.account.cancelled
