"""Sets of code points: ranges, Unicode general categories, case variants."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from typing import Final, TypeAlias

from stackmask.grammar.ir import ANY_CHAR, MAX_CODE_POINT, SURROGATES
from stackmask.grammar.source.work import spend

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges as in ``CharClass``: inclusive, sorted, disjoint, not adjacent, without surrogates."""

ANY: Final[Ranges] = ANY_CHAR.ranges
# ASCII on purpose: a grammar that means every Unicode digit says \p{Nd}
DIGIT: Final[Ranges] = ((0x30, 0x39),)
WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Final[Ranges] = ((0x09, 0x0D), (0x20, 0x20))

NON_ASCII_MASK: Final = ((1 << 128) - 1) << 128

CATEGORY_NAMES: Final[dict[str, str]] = {
    "Any": "",
    "Letter": "L",
    "Cased_Letter": "LC",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Mark": "M",
    "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me",
    "Number": "N",
    "Decimal_Number": "Nd",
    "Letter_Number": "Nl",
    "Other_Number": "No",
    "Punctuation": "P",
    "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe",
    "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf",
    "Other_Punctuation": "Po",
    "Symbol": "S",
    "Math_Symbol": "Sm",
    "Currency_Symbol": "Sc",
    "Modifier_Symbol": "Sk",
    "Other_Symbol": "So",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Line_Separator": "Zl",
    "Paragraph_Separator": "Zp",
    "Other": "C",
    "Control": "Cc",
    "Format": "Cf",
    "Private_Use": "Co",
    "Unassigned": "Cn",
}
CATEGORIES: Final = frozenset(CATEGORY_NAMES.values()) - {""}

# No code point outside these blocks has a case variant (checked by tests/grammar/source/test_charclass.py);
# leaving out CJK keeps the table cheap to make.
CASED_BLOCKS: Final = ((0x80, 0x33FF), (0xA640, 0xABFF), (0xFB00, 0xFFFF), (0x10000, 0x1FFFF))


def normalize(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort and merge ranges, and remove surrogates. Cost: n log n."""
    low, high = SURROGATES
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if not merged or first > merged[-1][1] + 1:
            merged.append((first, last))
        elif last > merged[-1][1]:
            merged[-1] = (merged[-1][0], last)
    at = bisect_left(merged, (low, 0))
    if not (at and merged[at - 1][1] >= low) and not (at < len(merged) and merged[at][0] <= high):
        return tuple(merged)
    result: list[tuple[int, int]] = []
    for first, last in merged:
        if last < low or first > high:
            result.append((first, last))
            continue
        if first < low:
            result.append((first, low - 1))
        if last > high:
            result.append((high + 1, last))
    return tuple(result)


def negate(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return every character that is not in the ranges."""
    result: list[tuple[int, int]] = []
    start = 0
    for first, last in normalize(ranges):
        if first > start:
            result.append((start, first - 1))
        start = last + 1
    if start <= MAX_CODE_POINT:  # mutant: negate-last
        result.append((start, MAX_CODE_POINT))
    return normalize(result)


@cache
def _by_category() -> dict[str, Ranges]:
    """Return the ranges of each two-letter category, in the Unicode version of this Python."""
    found: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for name, run in groupby(map(unicodedata.category, map(chr, range(MAX_CODE_POINT + 1)))):
        length = sum(1 for _ in run)
        found.setdefault(name, []).append((start, start + length - 1))
        start += length
    return {name: normalize(ranges) for name, ranges in found.items()}


@cache
def category(name: str) -> Ranges | None:
    """Return the characters of a general category, by short or long name; None if it does not exist.

    Cost: the first call classifies all of Unicode, about 0.1 s.
    """
    short = CATEGORY_NAMES.get(name, name)
    if short == "":
        return ANY
    if short not in CATEGORIES:
        return None
    wanted = ("Lu", "Ll", "Lt") if short == "LC" else tuple(k for k in _by_category() if k.startswith(short))
    return normalize(r for key in wanted for r in _by_category().get(key, ()))


@cache
def _case_variants() -> dict[int, tuple[int, ...]]:
    """Map each non-ASCII character with case to all characters that equal it case-insensitively.

    Mappings are one-to-one, and never between ASCII and other characters: `k` does not match the Kelvin sign.
    """
    groups: dict[str, set[int]] = {}
    for low, high in CASED_BLOCKS:
        for code in range(low, high + 1):
            char = chr(code)
            upper = char.upper()
            if len(upper) != 1 or upper.isascii():
                upper = char
            lower = char.lower()
            if len(lower) == 1 and not lower.isascii() and lower != char:
                again = lower.upper()
                key = again if len(again) == 1 and not again.isascii() else lower
                groups.setdefault(key, set()).update((code, ord(lower)))
            if upper != char:
                groups.setdefault(upper, set()).update((code, ord(upper)))
    variants: dict[int, tuple[int, ...]] = {}
    for group in groups.values():
        for code in group:
            variants[code] = tuple(sorted({*group, *variants.get(code, ())}))
    return variants


def fold_case(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Add the case variants of every character. ASCII letters stay ASCII (see ``_case_variants``)."""
    result = list(ranges)
    for first, last in tuple(result):
        for low, high, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
            if first <= high and last >= low:
                result.append((max(first, low) + shift, min(last, high) + shift))
        if last >= 0x80:
            spend(200)
            for code, variants in _case_variants().items():
                if first <= code <= last:
                    result.extend((v, v) for v in variants)
    return normalize(result)


def follow_mask(ranges: Iterable[tuple[int, int]]) -> int | None:
    """Return the 256-bit mask of first bytes; None if only some non-ASCII characters are in."""
    mask = 0
    beyond: list[tuple[int, int]] = []
    for first, last in ranges:
        for code in range(first, min(last, 0x7F) + 1):
            mask |= 1 << code
        if last > 0x7F:
            beyond.append((max(first, 0x80), last))
    if not beyond:
        return mask
    if normalize(beyond) != normalize([(0x80, MAX_CODE_POINT)]):
        return None
    return mask | NON_ASCII_MASK
