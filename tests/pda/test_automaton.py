"""What is checked when a grammar meets a vocabulary: that there is a text, and which ids token terminals stand for."""

from __future__ import annotations

import numpy as np
import pytest

import stackmask as sm
from stackmask.grammar.ir import TokenTerminal
from stackmask.pda.store import TokenClasses
from stackmask.runtime.matching.compiler import token_info

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


def test_ranges_of_ids_may_overlap_in_any_order() -> None:
    assert allowed("root ::= <[9-12,3,3-4,12-15,10,258]> <[257]>") == {3, 4, *range(9, 16), 258}
    assert allowed("root ::= <[^250-257,0-96,98,100-249,240-251]> <[257]>") == {97, 99}
    assert allowed("root ::= <[^258]> | <[^258,258]> | <[5]>") == set(range(258))
    info = token_info(VOCABULARY)
    classes = TokenClasses(info, lambda: 0, lambda ids: None, lambda units: None)
    for ranges in ([(9, 12), (3, 3), (3, 4), (12, 15), (10, 10)], [(1, 9), (2, 3), (4, 5)], [(7, 7), (7, 7)]):
        named = {i for low, high in ranges for i in range(low, high + 1)}
        ids, _ = classes.of(TokenTerminal((), tuple(ranges), False))
        assert ids == tuple(sorted(named))
        ids, _ = classes.of(TokenTerminal((), tuple(ranges), True))
        assert ids == tuple(sorted(set(range(258)) - named))


def test_sets_of_tokens_are_counted_each_once() -> None:
    tokens = [*(bytes([b]) for b in range(256)), *(b"%d" % i for i in range(1_000, 21_000)), None]
    vocabulary = sm.Vocabulary(tokens, stop_ids=[len(tokens) - 1])

    def compiled(*sets: str) -> sm.CompiledGrammar:
        text = "root ::= " + " ".join(f"<[^{one}]>" for one in sets)
        return sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf(text))

    compiled(*["5"] * 2_000, *map(str, range(50)))
    with pytest.raises(sm.BudgetError, match="max_work"):
        compiled(*map(str, range(3_000)))
