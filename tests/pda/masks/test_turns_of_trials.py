"""Masks that walks of local states begin, and that trials of all tokens may end: see ``MaskEngine.is_tried``."""

from __future__ import annotations

import numpy as np
import pytest

import stackmask as sm

GRAMMAR = """
root ::= (statement ";")+
statement ::= name "=" sum | "if" " "+ sum "then" " "* statement | name "(" (sum ("," sum)*)? ")"
sum ::= product (("+" | "-") product)*
product ::= value (("*" | "/") value)*
value ::= name | number | "(" sum ")" | "'" [^'\\n]* "'"
name ::= [a-z]+
number ::= [0-9]{1,4} ("." [0-9]+)?
"""
TEXT = b"ab=(1+c)*'x y'-2.50;if a+1then f(a,(b));z=12;"
PIECES = [
    b"if ",
    b"then",
    b"f(",
    b"))",
    b"';",
    b"a=",
    b"ab",
    b"=(1",
    b"x y",
    b"1.",
    b".5",
    b"+1",
    b"(b)",
    b");z",
    b"=12;",
]
VOCABULARY = sm.Vocabulary(
    [bytes([i]) for i in range(256)] + PIECES + [b"<end>"], stop_ids=[256 + len(PIECES)]
)


def masks(compiled: sm.CompiledGrammar) -> list[np.ndarray]:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    matcher = compiled.matcher()
    found = []
    for byte in TEXT:
        matcher.fill_next_token_bitmask(mask)
        found.append(mask[0].copy())
        assert matcher.accept_token(byte)
    return found


def compiled_with(walk_units: int) -> sm.CompiledGrammar:
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(GRAMMAR))
    compiled._automaton.store.masks.walk_units = walk_units
    return compiled


@pytest.mark.parametrize("walk_units", [-1, 0, 20, 100, 300, 1000, 3000])
def test_masks_are_the_same_wherever_walks_end(walk_units: int) -> None:
    expected = masks(compiled_with(1 << 40))
    compiled = compiled_with(walk_units)
    assert all((a == b).all() for a, b in zip(masks(compiled), expected, strict=True))
    assert walk_units > 300 or compiled.stats()["simulations"]


def test_an_error_leaves_no_limit() -> None:
    """A request that runs out of work may end within a walk or a trial; the next one has whole masks."""
    expected = masks(compiled_with(1 << 40))
    compiler = sm.Compiler(VOCABULARY)
    compiled = compiler.compile(sm.Grammar.from_ebnf(GRAMMAR))
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    ended = 0
    for work in range(100, 20_000, 500):
        limits = sm.Limits(max_work=sm.Grammar.from_ebnf(GRAMMAR).work + work)
        compiled._automaton.store.masks.walk_units = work % 1500
        try:
            matcher = compiler.compile(sm.Grammar.from_ebnf(GRAMMAR, limits=limits)).matcher()
            for byte in TEXT:
                matcher.fill_next_token_bitmask(mask)
                matcher.accept_token(byte)
        except sm.BudgetError:
            ended += 1
    assert ended
    compiled._automaton.store.masks.walk_units = 200
    assert all((a == b).all() for a, b in zip(masks(compiled), expected, strict=True))
