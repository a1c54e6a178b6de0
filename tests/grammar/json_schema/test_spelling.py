"""Texts spelled in Cython are the sequences of their characters' spellings."""

from __future__ import annotations

import random

import pytest

from stackmask.grammar import ir
from stackmask.grammar.json_schema.text import strings

ALPHABET = [chr(c) for c in (*range(0x180), 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF)]


def test_texts_are_their_characters() -> None:
    rng = random.Random(1)
    for _ in range(500):
        text = "".join(rng.choices(ALPHABET, k=rng.randint(2, 9)))
        each = [strings.literal(character) for character in text]
        assert strings.literal(text) == ir.Sequence(tuple(each))
        assert strings.word(text) == ir.Sequence((strings.QUOTE, *each, strings.QUOTE))


@pytest.mark.parametrize("text", ["a\ud800", "\udfffa", "ab\ud83d\udc00x"])
def test_surrogates_are_refused(text: str) -> None:
    for spell in (strings.literal, strings.word):
        with pytest.raises(ValueError):
            spell(text)
