"""Classes of characters or bytes: set operations, their expressions, and the alphabet of an automaton."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

MAX_CACHED: Final = 4096  # sets; a class of a pattern is one
BYTES: Final[Ranges] = ((0, 0xFF),)


class TooLarge(Exception):
    """An automaton, its classes or its expression would exceed the limit."""


# what is remembered is charged all the same, so that no outcome depends on what came before
def complement(ranges: Ranges, universe: Ranges = charclass.ANY) -> Ranges:
    """Return the characters of the universe that are not in the ranges."""
    spend(1 + len(ranges) // 2)
    return _complement(ranges, universe)


@lru_cache(MAX_CACHED)
def _complement(ranges: Ranges, universe: Ranges) -> Ranges:
    if universe == charclass.ANY:
        return charclass.negate(ranges)
    return common(charclass.negate(ranges), universe)


def intersect(left: Ranges, right: Ranges) -> Ranges:
    """Return the characters that are in both ranges."""
    spend(1 + (len(left) + len(right)) // 2)
    return common(left, right)


@lru_cache(MAX_CACHED)
def common(left: Ranges, right: Ranges) -> Ranges:
    """Return the result of ``intersect`` without charging its work to the request."""
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
    """Return the characters that are in either of the ranges."""
    spend(1 + (len(left) + len(right)) // 2)
    return charclass.normalize((*left, *right))


def difference(left: Ranges, right: Ranges) -> Ranges:
    """Return the characters of ``left`` that are not in ``right``."""
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
    return charclass.normalize((byte, byte) for byte in range(256) if mask >> byte & 1)


@lru_cache(MAX_CACHED)
def char_class(ranges: Ranges) -> ir.CharClass:
    """Return the expression of one character in the ranges, which is shared."""
    return ir.CharClass(ranges)


@lru_cache(MAX_CACHED)
def byte_class(ranges: Ranges) -> ir.ByteClass:
    """Return the expression of one byte in the ranges, which is shared."""
    return ir.ByteClass(mask_of(ranges))


def one_of(ranges: Iterable[tuple[int, int]], as_bytes: bool) -> ir.Expr:
    """Return the expression of one character, or one byte, in the ranges."""
    found = charclass.normalize(ranges)
    if len(found) == 1 and found[0][0] == found[0][1] and not as_bytes:
        return ir.Literal(chr(found[0][0]).encode())
    return byte_class(found) if as_bytes else char_class(found)


def classes_of(
    wanted: Iterable[Ranges], universe: Ranges, most: int
) -> tuple[list[Ranges], dict[Ranges, frozenset[int]]]:
    """Return the partition of all characters induced by some sets, and for each set the numbers of its classes.

    Raises: TooLarge.
    Cost: linear in the ranges, times the number of sets with the same character.
    """
    sets = list(dict.fromkeys(wanted))  # by their numbers from here on: they can have hundreds of ranges
    changes: dict[int, list[int]] = {}
    for number, ranges in enumerate(sets):
        for low, high in ranges:
            changes.setdefault(low, []).append(number)
            changes.setdefault(high + 1, []).append(number)
    cuts = sorted({*changes, *(cut for low, high in universe for cut in (low, high + 1))})
    inside: set[int] = set()
    groups: dict[frozenset[int], list[tuple[int, int]]] = {}
    for low, after in pairwise(cuts):
        inside.symmetric_difference_update(changes.get(low, ()))
        spend(2 + len(inside))
        if not any(first <= low <= last for first, last in universe):
            continue
        groups.setdefault(frozenset(inside), []).append((low, after - 1))
        if len(groups) > most:
            raise TooLarge
    members: list[set[int]] = [set() for _ in sets]
    for number, holders in enumerate(groups):
        for holder in holders:
            members[holder].add(number)
    classes = [charclass.normalize(pieces) for pieces in groups.values()]
    return classes, dict(zip(sets, map(frozenset, members), strict=True))
