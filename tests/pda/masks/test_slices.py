"""Runs that begin inside of tokens, under a bound: the tokens of as many characters as the bound are among them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import stackmask as sm

WORDS = ["".join(letters) for size in range(1, 6) for letters in product("abé", repeat=size)]
TOKENS = [*(bytes([b]) for b in range(256)), None, *(f'"{word}'.encode() for word in WORDS)]
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[256])


def allowed(compiled: sm.CompiledGrammar) -> set[str]:
    """Return the words that may follow a quote within a token."""
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    compiled.matcher().fill_next_token_bitmask(mask)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    return {WORDS[int(i) - 257] for i in np.flatnonzero(bits) if i > 256}


@pytest.mark.parametrize("order", [(1, 2, 3, 4, 5, 6), (6, 5, 4, 3, 2, 1), (3, 1, 6, 2, 5, 4)])
def test_a_bound_is_met_exactly(order: tuple[int, ...]) -> None:
    compiler = sm.Compiler(VOCABULARY)
    for most in order:
        schema = {"type": "string", "maxLength": most}
        found = allowed(compiler.compile(sm.Grammar.from_json_schema(schema, whitespace="compact")))
        assert found == {word for word in WORDS if len(word) <= most}
        found = allowed(compiler.compile(sm.Grammar.from_ebnf(rf"""root ::= '"' [a-zé]{{0,{most}}} '"'""")))
        assert found == {word for word in WORDS if len(word) <= most}
