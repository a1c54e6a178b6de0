"""Sets of code points against Unicode as Python knows it."""

from __future__ import annotations

import random
import unicodedata

import pytest

from stackmask.grammar.ir import MAX_CODE_POINT
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import (
    CASED_BLOCKS,
    CATEGORY_NAMES,
    Ranges,
    category,
    fold_case,
    follow_mask,
    negate,
)

SURROGATES = range(0xD800, 0xE000)


def members(ranges: Ranges) -> set[int]:
    return {code for first, last in ranges for code in range(first, last + 1)}


def test_normalize_sorts_merges_and_drops_surrogates() -> None:
    assert charclass.normalize([(5, 6), (1, 2), (3, 3), (9, 9), (5, 5)]) == ((1, 3), (5, 6), (9, 9))
    assert charclass.normalize([(0xD000, 0xF000)]) == ((0xD000, 0xD7FF), (0xE000, 0xF000))
    assert charclass.normalize([(0xD800, 0xDFFF)]) == ()


def test_negate_is_the_complement() -> None:
    rng = random.Random(1)
    for _ in range(50):
        ranges = charclass.normalize(
            (a, a + rng.randrange(300)) for a in rng.sample(range(0x10FF00), rng.randrange(6))
        )
        other = negate(ranges)
        assert charclass.normalize([*ranges, *other]) == charclass.ANY
        assert sum(b - a + 1 for a, b in (*ranges, *other)) == MAX_CODE_POINT + 1 - len(SURROGATES)
        assert negate(other) == ranges
    assert negate([(0, MAX_CODE_POINT - 1)]) == ((MAX_CODE_POINT, MAX_CODE_POINT),)
    assert negate([(0, MAX_CODE_POINT)]) == ()


@pytest.mark.campaign
def test_categories() -> None:
    by_name: dict[str, set[int]] = {}
    for code in range(MAX_CODE_POINT + 1):
        if code not in SURROGATES:
            by_name.setdefault(unicodedata.category(chr(code)), set()).add(code)
    for long, short in CATEGORY_NAMES.items():
        if short == "LC":
            wanted = by_name["Lu"] | by_name["Ll"] | by_name["Lt"]
        else:
            wanted = {c for name, codes in by_name.items() if name.startswith(short) for c in codes}
        assert members(category(long) or ()) == wanted, long
        if short:
            assert category(short) == category(long)
    assert category("Greek") is None
    assert category("l") is None


def test_every_character_with_case_lies_in_the_blocks_that_are_searched() -> None:
    searched = members(CASED_BLOCKS) | set(range(0x80))
    for code in range(MAX_CODE_POINT + 1):
        char = chr(code)
        if char.upper() != char or char.lower() != char:
            assert code in searched, hex(code)


def test_folding_is_an_equivalence_of_one_to_one_mappings() -> None:
    cased = [c for c in members(CASED_BLOCKS) if chr(c).upper() != chr(c) or chr(c).lower() != chr(c)]
    for code in [*cased, *range(0x80)]:
        folded = fold_case([(code, code)])
        for variant in members(folded):
            assert fold_case([(variant, variant)]) == folded, hex(code)
        char = chr(code)
        for other in (char.upper(), char.lower()):
            if len(other) == 1 and other.isascii() == char.isascii():
                assert ord(other) in members(folded), hex(code)


@pytest.mark.parametrize(
    ("char", "variants"),
    [
        ("k", "kK"),
        ("\u212a", "\u212a"),
        ("s", "sS"),
        ("ſ", "ſ"),
        ("σ", "σςΣ"),
        ("ß", "ßẞ"),
        ("ǅ", "ǄǅǆǄ"),
        ("1", "1"),
        ("é", "éÉ"),
    ],
)
def test_variants(char: str, variants: str) -> None:
    assert members(fold_case([(ord(char), ord(char))])) == {ord(c) for c in variants}


def test_follow_mask() -> None:
    assert follow_mask(charclass.DIGIT) == sum(1 << b for b in b"0123456789")
    assert follow_mask(charclass.ANY) == (1 << 256) - 1
    assert follow_mask(((0x80, 0xD7FF), (0xE000, 0x10FFFF))) == charclass.NON_ASCII_MASK
    assert follow_mask(((0x61, 0xE9),)) is None
    assert follow_mask(()) == 0
