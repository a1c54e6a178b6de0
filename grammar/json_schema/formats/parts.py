"""Small builders that the formats are written with. A string stands for itself."""

from __future__ import annotations

from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.source import charclass


def chars(spec: str) -> ir.CharClass:
    """Return the class of the characters of a spec such as ``a-zA-Z0-9_-`` (a hyphen stands last)."""
    ranges: list[tuple[int, int]] = []
    i = 0
    while i < len(spec):
        if i + 2 < len(spec) and spec[i + 1] == "-":
            ranges.append((ord(spec[i]), ord(spec[i + 2])))
            i += 3
        else:
            ranges.append((ord(spec[i]), ord(spec[i])))
            i += 1
    return ir.CharClass(charclass.normalize(ranges))


def union(*classes: ir.CharClass) -> ir.CharClass:
    """Return the characters of any of the classes."""
    return ir.CharClass(charclass.normalize(pair for item in classes for pair in item.ranges))


def expr(item: ir.Expr | str) -> ir.Expr:
    """Return the expression of a string; an expression as it is."""
    return ir.Literal(item.encode()) if isinstance(item, str) else item


def seq(*items: ir.Expr | str) -> ir.Expr:
    """Return the items one after the other."""
    parts = tuple(part for item in map(expr, items) for part in _items(item))
    return parts[0] if len(parts) == 1 else ir.Sequence(parts)


def _items(item: ir.Expr) -> tuple[ir.Expr, ...]:
    return item.items if isinstance(item, ir.Sequence) else (item,)


def alt(*items: ir.Expr | str) -> ir.Expr:
    """Return any of the items."""
    return ir.Choice(tuple(map(expr, items)))


def opt(*items: ir.Expr | str) -> ir.Expr:
    """Return the items one after the other, or nothing."""
    return ir.Repeat(seq(*items), 0, 1)


def rep(item: ir.Expr | str, low: int = 0, high: int | None = None) -> ir.Expr:
    """Return the item between low and high times."""
    return expr(item) if low == high == 1 else ir.Repeat(expr(item), low, high)


DIGIT: Final = chars("0-9")
HEX: Final = chars("0-9A-Fa-f")
LETTER: Final = chars("A-Za-z")
LETTER_DIGIT: Final = chars("A-Za-z0-9")
