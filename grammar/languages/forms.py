"""Properties visible in the form of an expression: nullability, number of members, first and following characters.

A pattern reads each string in only one way if no two of its positions can read the same character next, and
it always continues where it could also end (A. Brüggemann-Klein and D. Wood, One-Unambiguous Regular
Languages, 1998). Order and laziness are then irrelevant. This is computed bottom-up (``paths``), so that
shared parts are analysed once. The answer "no" may be wrong, "yes" is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ir.build import is_nothing
from stackmask.grammar.languages.classes import intersect, union
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

MANY: Final = 1_000_000_000  # more than anything that is counted here


def concat(items: Iterable[ir.Expr]) -> ir.Expr:
    """Return the concatenation of the items, with adjacent literals merged."""
    flat: list[ir.Expr] = []
    for item in items:
        for part in item.items if isinstance(item, ir.Sequence) else (item,):
            if is_nothing(part):
                return ir.NOTHING
            if isinstance(part, ir.Literal):
                if not part.data:
                    continue
                if flat and isinstance(last := flat[-1], ir.Literal):
                    flat[-1] = ir.Literal(last.data + part.data)
                    continue
            flat.append(part)
    if not flat:
        return ir.EPSILON
    return flat[0] if len(flat) == 1 else ir.Sequence(tuple(flat))


def nullable(expr: ir.Expr) -> bool:
    """Return whether a regular expression contains the empty string. Recursion is as deep as the expression."""
    match expr:
        case ir.Literal(data):
            return not data
        case ir.Sequence(items) | ir.Intersection(items):
            return all(map(nullable, items))
        case ir.Choice(items):
            return any(map(nullable, items))
        case ir.Repeat(item, low):
            return low == 0 or nullable(item)
        case ir.Complement(item):
            return not nullable(item)
    return False


@lru_cache(4096)
def is_plain(expr: ir.Expr) -> bool:
    """Return whether an expression has only characters, sequences, choices and repetitions, none of them empty."""
    return all(
        isinstance(part, ir.Literal | ir.Sequence | ir.Repeat)
        or (isinstance(part, ir.CharClass) and bool(part.ranges))
        or (isinstance(part, ir.Choice) and bool(part.items))
        for part in ir.walk(expr)
    )


def at_least(expr: ir.Expr) -> int:
    """Return a lower bound on the number of strings of a plain expression, up to a limit."""
    match expr:
        case ir.CharClass(ranges):
            return sum(high - low + 1 for low, high in ranges)
        case ir.Sequence(items) | ir.Choice(items):
            return max(map(at_least, items), default=1)
        case ir.Repeat(item, low, high):
            if high == 0:
                return 1
            if high is None and not nullable(item):
                return MANY
            one = at_least(item)
            if isinstance(item, ir.CharClass) and one > 1:
                count = int(one ** min(30, high or 1))
            else:
                count = max(one, (high or low) - low + 1 if not nullable(item) else one)
            return min(count, MANY)
        case _:
            return 1


class Paths(NamedTuple):
    """Facts about a part: nullability, first characters, and possible continuations of its end."""

    is_empty: bool
    first: Ranges
    more: Ranges
    is_single: bool


EMPTY: Final = Paths(True, (), (), True)
UNKNOWN: Final = Paths(True, charclass.ANY, charclass.ANY, False)


# recursion is as deep as groups are nested, which the reader limits
def paths(node: object, lazy: dict[int, ir.Repeat]) -> Paths:
    """Return the facts about a node. ``lazy``: the lazy repetitions, by identity. Cost: about linear."""
    spend(3)
    match node:
        case ir.Literal(data):
            if not data:
                return EMPTY
            code = ord(data.decode()[0])
            return Paths(False, ((code, code),), (), True)
        case ir.CharClass(ranges):
            return Paths(False, ranges, (), True)
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
    """Return the facts about a sequence of parts."""
    found = EMPTY
    for part in parts:
        spend(2)
        single = found.is_single and part.is_single and not intersect(found.more, part.first)
        first = found.first
        if found.is_empty:
            single = single and not intersect(found.first, part.first)
            first = union(first, part.first)
        more = part.more
        if part.is_empty:
            more = union(union(more, found.more), part.first)
        found = Paths(found.is_empty and part.is_empty, first, more, single)
    return found


def in_choice(parts: list[Paths]) -> Paths:
    """Return the facts about alternatives, in their order."""
    first: Ranges = ()
    more: Ranges = ()
    single = all(part.is_single for part in parts)
    for number, part in enumerate(parts):
        spend(2)
        single = single and not intersect(first, part.first)
        # an empty alternative hides those after it
        single = single and (not part.is_empty or number == len(parts) - 1)
        first = union(first, part.first)
        more = union(more, part.more)
    return Paths(any(part.is_empty for part in parts), first, more, single)


def of_words(words: list[str]) -> Paths:
    """Return the facts about a choice of words: a word hides later words that begin with it."""
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
    """Return the facts about a repetition."""
    if high == 0:
        return EMPTY
    single = part.is_single and not is_lazy
    more = part.more
    if high is None or high > 1:
        single = single and not part.is_empty and not intersect(part.more, part.first)
        more = union(more, part.first)
    elif low == 0:
        single = single and not part.is_empty
    return Paths(low == 0 or part.is_empty, part.first, more, single)
