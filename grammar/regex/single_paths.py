"""Patterns that read each text in one way only, so that order and laziness decide nothing.

A pattern is such if no two of its places can read the same character next, and where it may end or go on, it goes on
(A. Brüggemann-Klein and D. Wood, One-Unambiguous Regular Languages, 1998). It then takes all of its strings whole. The
answer is made from parts, each with the characters that it begins with and those that its end could go on with, so that
parts that occur often are looked at once; "no" may be wrong, "yes" is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.regex.pattern.tree import Edge, Look, Node
from stackmask.grammar.regex.unicode import sets
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

NONE: Final[Ranges] = ()


class Paths(NamedTuple):
    """What is known of a part: whether it may be empty, what it begins with, what its end could go on with."""

    is_empty: bool
    first: Ranges
    more: Ranges
    is_single: bool


EMPTY: Final = Paths(True, NONE, NONE, True)
UNKNOWN: Final = Paths(True, charclass.ANY, charclass.ANY, False)


# recursion is as deep as groups are nested, which the reader limits
def paths(node: Node, lazy: dict[int, ir.Repeat]) -> Paths:
    """Return what is known of a node. ``lazy``: the lazy repetitions, by identity. Cost: about linear."""
    spend(3)
    match node:
        case Edge() | Look():
            return UNKNOWN
        case ir.Literal(data):
            if not data:
                return EMPTY
            code = ord(data.decode()[0])
            return Paths(False, ((code, code),), NONE, True)
        case ir.CharClass(ranges):
            return Paths(False, ranges, NONE, True)
        case ir.Sequence(items):
            return in_sequence(paths(item, lazy) for item in items)
        case ir.Choice(items):
            if all(isinstance(item, ir.Literal) and item.data for item in items):
                return of_words([item.data.decode() for item in items])  # type: ignore[union-attr]
            return in_choice([paths(item, lazy) for item in items])
        case ir.Repeat(item, low, high):
            is_lazy = id(node) in lazy and low != high
            return repeated(paths(item, lazy), low, high, is_lazy)
    return UNKNOWN


def in_sequence(parts: Iterable[Paths]) -> Paths:
    """Return what is known of parts that follow each other."""
    found = EMPTY
    for part in parts:
        spend(2)
        single = found.is_single and part.is_single and not sets.intersect(found.more, part.first)
        first = found.first
        if found.is_empty:
            single = single and not sets.intersect(found.first, part.first)
            first = sets.union(first, part.first)
        more = part.more
        if part.is_empty:
            more = sets.union(sets.union(more, found.more), part.first)
        found = Paths(found.is_empty and part.is_empty, first, more, single)
    return found


def in_choice(parts: list[Paths]) -> Paths:
    """Return what is known of alternatives, in their order."""
    first, more = NONE, NONE
    single = all(part.is_single for part in parts)
    for number, part in enumerate(parts):
        spend(2)
        single = single and not sets.intersect(first, part.first)
        # an empty alternative hides those behind it
        single = single and (not part.is_empty or number == len(parts) - 1)
        first = sets.union(first, part.first)
        more = sets.union(more, part.more)
    return Paths(any(part.is_empty for part in parts), first, more, single)


def of_words(words: list[str]) -> Paths:
    """Return what is known of a choice of words: a word hides those behind it that begin with it."""
    places: dict[str, int] = {}
    for number, word in enumerate(words):
        places.setdefault(word, number)
    single = True
    more: set[int] = set()
    for word, number in places.items():
        spend(2 + len(word) // 4)
        for end in range(1, len(word)):
            before = places.get(word[:end])
            if before is not None:
                single = single and before > number
                more.add(ord(word[end]))
    first = charclass.normalize((ord(word[0]), ord(word[0])) for word in places)
    return Paths(False, first, charclass.normalize((code, code) for code in more), single)


def repeated(part: Paths, low: int, high: int | None, is_lazy: bool) -> Paths:
    """Return what is known of a repetition."""
    if high == 0:
        return EMPTY
    single = part.is_single and not is_lazy
    more = part.more
    if high is None or high > 1:
        single = single and not part.is_empty and not sets.intersect(part.more, part.first)
        more = sets.union(more, part.first)
    elif low == 0:
        single = single and not part.is_empty
    return Paths(low == 0 or part.is_empty, part.first, more, single)
