"""The letters of automata over patterns: classes of characters that no part of a pattern tells apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from stackmask.grammar.regex.pattern.tree import Edge
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend


class TooManyClasses(Exception):
    """More classes than an automaton may have."""


def classes_of(
    wanted: Iterable[Ranges], universe: Ranges, most: int
) -> tuple[list[Ranges], dict[Ranges, frozenset[int]]]:
    """Return the classes of all characters that some sets make, and for each set the numbers of its classes.

    Raises: TooManyClasses.
    Cost: linear in the ranges, times the sets that a character is in.
    """
    members: dict[Ranges, set[int]] = {ranges: set() for ranges in wanted}
    changes: dict[int, list[Ranges]] = {}
    for ranges in members:
        for low, high in ranges:
            changes.setdefault(low, []).append(ranges)
            changes.setdefault(high + 1, []).append(ranges)
    cuts = sorted({*changes, *(cut for low, high in universe for cut in (low, high + 1))})
    inside: set[Ranges] = set()
    groups: dict[frozenset[Ranges], list[tuple[int, int]]] = {}
    for low, after in pairwise(cuts):
        inside.symmetric_difference_update(changes.get(low, ()))
        spend(2 + len(inside))
        if not any(first <= low <= last for first, last in universe):
            continue
        groups.setdefault(frozenset(inside), []).append((low, after - 1))
        if len(groups) > most:
            raise TooManyClasses
    for number, holders in enumerate(groups):
        for holder in holders:
            members[holder].add(number)
    classes = [charclass.normalize(pieces) for pieces in groups.values()]
    return classes, {ranges: frozenset(found) for ranges, found in members.items()}


def alike(edges: Iterable[Edge], count: int, members: Mapping[Ranges, frozenset[int]]) -> list[int]:
    """Return for each of so many classes the first one that assertions do not tell from it, as last characters."""
    lefts = list(dict.fromkeys(left[0] for edge in edges for left, _ in edge.pairs))
    spend(count * (1 + len(lefts)) // 8)
    first: dict[tuple[bool, ...], int] = {}
    return [
        first.setdefault(tuple(letter in members[left] for left in lefts), letter) for letter in range(count)
    ]
