"""Case-insensitive equality of characters, as each flavour defines it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

from stackmask.grammar.regex.unicode.properties import folding_classes
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

ASCII: Final = "ascii"  # A-Z only
SIMPLE: Final = "simple"  # Unicode simple case folding: Rust, and ECMA with u or v
UPPER: Final = "upper"  # ECMA without u: by upper case, ASCII never equals the rest
FEW: Final = 500  # characters that are looked at one by one
DIALECT: Final = "dialect"  # the EBNF dialect: as literals there
PYTHON: Final = "python"  # Python's re on text: simple folding, and the dotted and dotless i

# what equals an ASCII letter beside its other case
_SPECIAL: Final[dict[str, tuple[tuple[int, ...], ...]]] = {
    UPPER: (),
    SIMPLE: ((0x4B, 0x6B, 0x212A), (0x53, 0x73, 0x17F)),
    PYTHON: ((0x4B, 0x6B, 0x212A), (0x53, 0x73, 0x17F), (0x49, 0x69, 0x130, 0x131)),
}


def fold(ranges: Ranges, folding: str) -> Ranges:
    """Return the ranges with all characters that equal theirs case-insensitively.

    Cost: ASCII is fast; other ranges go through all characters with case, about 1 ms.
    """
    spend(2 + len(ranges) if not ranges or ranges[-1][1] < 0x80 else 2 + min(_members(ranges), 1000))
    return folded(ranges, folding)


@lru_cache(4096)
def folded(ranges: Ranges, folding: str) -> Ranges:
    """Return the result of ``fold``, but charge no work to the request."""
    if ranges == charclass.ANY:
        return ranges
    if folding == DIALECT:
        return charclass.fold_case(ranges)
    result = list(ranges)
    for first, last in ranges:
        for low, high, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
            if first <= high and last >= low:
                result.append((max(first, low) + shift, min(last, high) + shift))
    if folding != ASCII:
        for group in _SPECIAL[folding]:
            if any(first <= code <= last for code in group for first, last in ranges):
                result.extend((code, code) for code in group)
        if ranges and ranges[-1][1] >= 0x80:
            classes = _upper_classes() if folding == UPPER else folding_classes()
            if _members(ranges) <= FEW:
                codes: Iterable[int] = (c for first, last in ranges for c in range(first, last + 1))
                codes = (code for code in codes if code in classes)
            else:
                starts = [first for first, _ in ranges]
                places = ((code, bisect_right(starts, code) - 1) for code in classes)
                ends = ((code, ranges[at][1]) for code, at in places if at >= 0)
                codes = (code for code, last in ends if code <= last)  # mutant: fold-last
            result.extend((other, other) for code in codes for other in classes[code])
    return charclass.normalize(result)


def _members(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


@cache
def _upper_classes() -> dict[int, tuple[int, ...]]:
    """Map each character to all characters with the same upper case, as in ECMA-262's Canonicalize."""
    groups: dict[str, list[int]] = {}
    for code in folding_classes():
        char = chr(code)
        upper = char.upper()
        if len(upper) != 1 or (code >= 0x80 and upper.isascii()):
            upper = char
        groups.setdefault(upper, []).append(code)
    return {code: tuple(group) for group in groups.values() for code in group if len(group) > 1}
