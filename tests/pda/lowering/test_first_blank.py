"""Tokenizers that drop the first blank of a text: one blank more may come, and a text that begins with one needs two."""

from __future__ import annotations

import pytest

import stackmask as sm

BYTES = [*(bytes([b]) for b in range(256)), None]


@pytest.mark.parametrize(
    ("grammar", "accepted", "rejected"),
    [
        ('root ::= "a"', ["a", " a"], ["  a"]),
        ('root ::= " a"', ["  a"], [" a", "a"]),
        ('root ::= " "? "a"', ["a", " a", "  a"], ["   a"]),
        ('root ::= " "+ "a"', ["  a", "   a"], ["a", " a"]),
    ],
)
def test_the_first_blank_is_no_part_of_the_text(
    grammar: str, accepted: list[str], rejected: list[str]
) -> None:
    vocabulary = sm.Vocabulary(BYTES, stop_ids=[256], strip_first_space=True)
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf(grammar))

    def accepts(text: str) -> bool:
        matcher = compiled.matcher()
        return bool(matcher.accept_string(text) and matcher.is_accepting())

    assert [text for text in accepted if not accepts(text)] == []
    assert [text for text in rejected if accepts(text)] == []
