"""Ambiguous grammars, by counts: what a step costs grows with the stack, not with the ways through it."""

from __future__ import annotations

import pytest

import stackmask as sm

BYTES = [bytes([b]) for b in range(256)]
VOCABULARY = sm.Vocabulary([*BYTES, None], stop_ids=[256])


def growth(text: str, size: int, key: str) -> float:
    """Return how much faster a count grows over the second half of a string of letters than over the first."""
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(text))
    matcher = compiled.matcher()
    counts = []
    for _ in range(2):
        assert matcher.accept_string("ab" * (size // 4)), matcher.refusal
        assert compiled._family is not None
        counts.append(compiled._family.counts()[key])
    return (counts[1] - counts[0]) / counts[0]


PAIRS = 's ::= s s | "(" s ")" | s "-" s | [a-z]* | s s s s'
TRIPLES = "s ::= s s s | s s | [a-z] |"
MIDDLE = "s ::= [a-z] s [a-z] | [a-z] s | s [a-z] | [a-z]"


@pytest.mark.parametrize("rules", [PAIRS, TRIPLES, MIDDLE], ids=["pairs", "triples", "middle"])
def test_work_of_a_step_is_at_most_quadratic(rules: str) -> None:
    grammar = f"root ::= s\n{rules}"
    # a sum of n^2 over the steps is n^3: the second half costs seven times the first
    assert growth(grammar, 80, "returns") < 8
    # members and edges grow with the length, so their sums are quadratic
    assert growth(grammar, 80, "members") < 3.5
    assert growth(grammar, 80, "edges") < 3.5


def test_a_return_is_followed_once_for_all_states_that_end_on_a_frame() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(f"root ::= s\n{PAIRS}"))
    assert compiled.matcher().accept_string("ab" * 30)
    assert compiled._family is not None
    counts = compiled._family.counts()
    # each step returns along each edge of the frames that are still open, once
    assert counts["returns"] <= 60 * counts["edges"]
