"""What is checked when a grammar meets a vocabulary: that there is a text, and which ids token terminals stand for."""

from __future__ import annotations

import numpy as np
import pytest

import stackmask as sm

SPECIAL = {"<tool>": 257, "<end>": 258}
VOCABULARY = sm.Vocabulary(
    [*(bytes([b]) for b in range(256)), b"ab", None, None], stop_ids=[258], special_names=SPECIAL
)


@pytest.mark.parametrize("text", ['root ::= "a" x\nx ::= "" !>> [b] "b"', 'root ::= ("a" !>> [a])+ "a"'])
def test_a_grammar_of_which_restrictions_leave_no_text_is_refused(text: str) -> None:
    grammar = sm.Grammar.from_ebnf(text)
    with pytest.raises(sm.GrammarError, match="G103"):
        sm.Compiler(VOCABULARY).compile(grammar)


def allowed(grammar: str) -> set[int]:
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(grammar)).matcher().fill_next_token_bitmask(mask)
    return {int(i) for i in np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))}


def test_what_is_left_of_a_negated_terminal_has_no_stop_token() -> None:
    assert allowed("root ::= <[^97]> <[257]>") == set(range(258)) - {97}
    assert allowed("root ::= <[257]>") == {257}
