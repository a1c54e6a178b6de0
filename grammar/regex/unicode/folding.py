"""Which characters are equal without case, in each of the ways that the flavours define it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache, lru_cache
from typing import Final

from stackmask.grammar.regex.unicode.properties import folding_classes
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

ASCII: Final = "ascii"  # A-Z only
SIMPLE: Final = "simple"  # Unicode simple case folding: Rust, and ECMA with u or v
UPPER: Final = "upper"  # ECMA without u: by upper case, ASCII never equals the rest
PYTHON: Final = "python"  # Python's re on text: simple folding, and the dotted and dotless i

# what equals an ASCII letter beside its other case
_SPECIAL: Final[dict[str, tuple[tuple[int, ...], ...]]] = {
    UPPER: (),
    SIMPLE: ((0x4B, 0x6B, 0x212A), (0x53, 0x73, 0x17F)),
    PYTHON: ((0x4B, 0x6B, 0x212A), (0x53, 0x73, 0x17F), (0x49, 0x69, 0x130, 0x131)),
}


@lru_cache(4096)
def fold(ranges: Ranges, folding: str) -> Ranges:
    """Return the ranges with everything that equals one of their characters without case.

    Cost: ASCII is quick; other ranges go through all characters that have case, about 1 ms.
    """
    if ranges == charclass.ANY:
        return ranges
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
            starts = [first for first, _ in ranges]
            for code, group in classes.items():
                at = bisect_right(starts, code) - 1
                if at >= 0 and code <= ranges[at][1]:  # mutant: fold-last
                    result.extend((other, other) for other in group)
    return charclass.normalize(result)


@cache
def _upper_classes() -> dict[int, tuple[int, ...]]:
    """Map each character to all those with the same upper case, as ECMA-262's Canonicalize has it."""
    groups: dict[str, list[int]] = {}
    for code in folding_classes():
        char = chr(code)
        upper = char.upper()
        if len(upper) != 1 or (code >= 0x80 and upper.isascii()):
            upper = char
        groups.setdefault(upper, []).append(code)
    return {code: tuple(group) for group in groups.values() for code in group if len(group) > 1}
