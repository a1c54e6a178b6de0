"""How the members of a regular expression go on: whether their beginnings begin endlessly many, read off its form."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.source import charclass

MANY: Final = 1_000_000_000  # more than anything that is counted here
_ANY: Final = ir.ANY_CHAR.ranges


@lru_cache(4096)
def is_endless(expr: ir.Expr) -> bool:
    """Return whether every beginning of a member begins infinitely many, as far as can be read off.

    An intersection has that property if some character c can end it without end: all its positive parts end in a
    loop over a class that holds c, and no other part reads c but in loops over all characters. For if p begins the
    member pw, then no complemented part holds pwc, pwcc, …: such a loop would have read all that follows p.
    """
    match expr:
        case ir.Choice(items):
            return bool(items) and all(map(is_endless, items))
        case ir.Intersection() | ir.Complement():
            return bool(_endings(expr))
        case ir.Sequence(items):
            return bool(items) and is_plain(expr) and is_endless(items[-1])
        case ir.Repeat(item, _, None):
            return is_plain(expr) and _least(item) > 0
        case ir.Repeat(item, _, high) if high:
            return is_plain(expr) and is_endless(item)
        case _:
            return False


def _endings(expr: ir.Expr) -> charclass.Ranges:
    """Return characters that may follow every member, any number of times, and no dead beginning."""
    match expr:
        case ir.Repeat(ir.CharClass(ranges), _, None):
            return ranges
        case ir.Sequence(items):
            return _endings(items[-1]) if items and is_plain(expr) else ()
        case ir.Choice(items):
            found = _ANY if items else ()
            for item in items:
                found = _intersect(found, _endings(item))
            return found
        case ir.Intersection(items):
            found = _ANY
            for item in items:
                found = _intersect(found, _endings(item))
                if not found:
                    break
            return found
        case ir.Complement(item):
            read = _read(item)
            return () if read is None else charclass.negate(read)
        case _:
            return ()


def _intersect(a: charclass.Ranges, b: charclass.Ranges) -> charclass.Ranges:
    if a is _ANY or a == b:
        return b
    return charclass.negate(charclass.normalize((*charclass.negate(a), *charclass.negate(b))))


def _read(expr: ir.Expr) -> charclass.Ranges | None:
    """Return the characters that an expression reads outside of loops over all of them."""
    ranges: list[tuple[int, int]] = []
    todo = [expr]
    seen: set[int] = set()
    while todo:
        part = todo.pop()
        if id(part) in seen or part == ir.ANY_TEXT:
            continue
        seen.add(id(part))
        match part:
            case ir.CharClass(own):
                ranges.extend(own)
            case ir.Literal(data):
                ranges.extend((ord(char), ord(char)) for char in data.decode())
            case ir.Sequence() | ir.Choice() | ir.Repeat():
                todo.extend(ir.children(part))
            case _:
                return None
    return charclass.normalize(ranges)


@lru_cache(4096)
def is_plain(expr: ir.Expr) -> bool:
    """Return whether the expression is made of characters, sequences, choices, repetitions, none of them empty."""
    return all(
        isinstance(part, ir.Literal | ir.Sequence | ir.Repeat)
        or (isinstance(part, ir.CharClass) and bool(part.ranges))
        or (isinstance(part, ir.Choice) and bool(part.items))
        for part in ir.walk(expr)
    )


def _least(expr: ir.Expr) -> int:
    """Return 0 for an expression that holds the empty text, else 1; of plain expressions."""
    match expr:
        case ir.Literal(data):
            return int(bool(data))
        case ir.Sequence(items):
            return max(map(_least, items), default=0)
        case ir.Choice(items):
            return min(map(_least, items))
        case ir.Repeat(item, low):
            return _least(item) if low else 0
        case _:
            return 1


def at_least(expr: ir.Expr) -> int:
    """Return a number of texts that a plain expression has at least, up to the limit."""
    match expr:
        case ir.CharClass(ranges):
            return sum(high - low + 1 for low, high in ranges)
        case ir.Sequence(items) | ir.Choice(items):
            return max(map(at_least, items), default=1)
        case ir.Repeat(item, low, high):
            if high == 0:
                return 1
            if high is None and _least(item):
                return MANY
            one = at_least(item)
            if isinstance(item, ir.CharClass) and one > 1:
                count = int(one ** min(30, high or 1))
            else:
                count = max(one, (high or low) - low + 1 if _least(item) else one)
            return min(count, MANY)
        case _:
            return 1
