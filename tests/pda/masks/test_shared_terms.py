"""Alternatives that share terms: each term is looked at once, however many ways lead to it."""

from __future__ import annotations

import stackmask as sm

VOCABULARY = sm.Vocabulary([*(bytes([b]) for b in range(256)), None, b"ab", b"bb"], stop_ids=[256])


def looks(rules: int) -> int:
    """Return the terms looked at for the first masks of nested alternatives that share what follows."""
    lines = [f'r{i} ::= r{i + 1} r{i + 1} | "b" r{i + 1}' for i in range(rules)]
    text = "\n".join(["root ::= r0", *lines, f'r{rules} ::= "a" |'])
    compiler = sm.Compiler(VOCABULARY)
    matcher = compiler.compile(sm.Grammar.from_ebnf(text)).matcher()
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    counts: dict[str, int] = matcher.compiled._automaton.store.masks.counts()
    return counts["run_looks"]


def test_looks_grow_with_the_terms_not_with_the_ways_to_them() -> None:
    # each rule doubles the ways: 20 rules have a thousand times those of 10
    assert looks(20) < 16 * looks(10)
