"""The sets of characters that the flavours name, and the operations on sets that classes need."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

MAX_CACHED: Final = 4096  # sets; a class of a pattern is one

# ECMA-262, WhiteSpace and LineTerminator
ECMA_SPACE: Final = charclass.normalize(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
ECMA_LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
ECMA_DOT: Final = charclass.negate(ECMA_LINE_ENDS)
NOT_NEWLINE: Final = charclass.negate([(0x0A, 0x0A)])
NOT_CR_LF: Final = charclass.negate([(0x0A, 0x0A), (0x0D, 0x0D)])
BYTES: Final[Ranges] = ((0, 0xFF),)


# what is remembered is charged all the same, so that no outcome depends on what came before
def complement(ranges: Ranges, universe: Ranges = charclass.ANY) -> Ranges:
    """Return the characters of the universe that are not in the ranges."""
    spend(1 + len(ranges) // 2)
    return _complement(ranges, universe)


@lru_cache(MAX_CACHED)
def _complement(ranges: Ranges, universe: Ranges) -> Ranges:
    if universe == charclass.ANY:
        return charclass.negate(ranges)
    return _intersect(charclass.negate(ranges), universe)


def intersect(left: Ranges, right: Ranges) -> Ranges:
    """Return the characters that are in both."""
    spend(1 + (len(left) + len(right)) // 2)
    return _intersect(left, right)


@lru_cache(MAX_CACHED)
def _intersect(left: Ranges, right: Ranges) -> Ranges:
    if left == right or right == charclass.ANY:
        return left
    if left == charclass.ANY:
        return right
    result: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            result.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(result)


def union(left: Ranges, right: Ranges) -> Ranges:
    """Return the characters that are in either."""
    spend(1 + (len(left) + len(right)) // 2)
    return charclass.normalize((*left, *right))


def difference(left: Ranges, right: Ranges) -> Ranges:
    """Return the characters of the first that are not in the second."""
    return intersect(left, complement(right))


def mask_of(ranges: Ranges) -> int:
    """Return the ranges, all below 256, as a mask of bytes."""
    mask = 0
    for first, last in ranges:
        mask |= (1 << (last + 1)) - (1 << first)
    return mask


@lru_cache(MAX_CACHED)
def ranges_of(mask: int) -> Ranges:
    """Return the bytes of a mask as ranges."""
    result: list[tuple[int, int]] = []
    for byte in range(256):
        if mask >> byte & 1:
            if result and result[-1][1] == byte - 1:
                result[-1] = (result[-1][0], byte)
            else:
                result.append((byte, byte))
    return tuple(result)
