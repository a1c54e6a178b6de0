"""Parts of an expression by their first and last character: what anchors and word boundaries ask about.

All functions keep counters, and return an expression of the same size up to a constant for each item that can
be empty. The results never hold the empty string.
"""

from __future__ import annotations

from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, is_nothing, repeat
from stackmask.grammar.normalize.nullable import ends_of
from stackmask.grammar.regex.pattern.invalid_utf8 import (
    INVALID,
    first_character,
    is_all_bytes,
    last_character,
)
from stackmask.grammar.regex.pattern.reader import byte_class, char_class
from stackmask.grammar.regex.unicode import sets
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

MAX_WRITTEN: Final = 50_000  # items of sequences with their first or last character restricted


class CannotSplit(Exception):
    """An expression whose strings cannot be told apart by their first or last character."""


def concat(items: list[ir.Expr]) -> ir.Expr:
    """Return one item after the other; neighbouring literals become one."""
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
    """Return whether the expression holds the empty string."""
    return bool(ends_of(expr, {}))


class Contexts:
    """Splits expressions of text, or of bytes: then ranges are ranges of bytes and literals are not decoded."""

    def __init__(self, as_bytes: bool) -> None:
        self.as_bytes = as_bytes
        self.any = sets.BYTES if as_bytes else charclass.ANY
        self.written = 0  # items of sequences so far

    def begin(self, expr: ir.Expr, ranges: Ranges, outer: bool = False) -> ir.Expr:
        """Return the strings of the expression whose first character is in the ranges.

        ``outer``: the expression goes up to the end of the text.
        """
        return self._restrict(expr, ranges, True, outer)

    def end(self, expr: ir.Expr, ranges: Ranges, outer: bool = False) -> ir.Expr:
        """Return the strings of the expression whose last character is in the ranges.

        ``outer``: the expression stands at the beginning of the text.
        """
        return self._restrict(expr, ranges, False, outer)

    def nonempty(self, expr: ir.Expr) -> ir.Expr:
        """Return the strings of the expression that are not empty."""
        return self.begin(expr, self.any) if nullable(expr) else expr

    # recursion is as deep as the expression, which the reader limits
    def _restrict(self, expr: ir.Expr, ranges: Ranges, first: bool, outer: bool = False) -> ir.Expr:
        if outer and ranges and ranges[-1][1] > 0xFF and is_all_bytes(expr) and not is_ascii_test(ranges):
            return choice(first_character(ranges) if first else last_character(ranges))
        match expr:
            case ir.CharClass(own):
                both = sets.intersect(own, ranges)
                return expr if both == own else char_class(both)
            case ir.ByteClass(mask):
                return _restrict_byte(expr, mask, ranges)
            case ir.Literal(data):
                if not data:
                    return ir.NOTHING
                return expr if contains(ranges, self._edge_character(data, first)) else ir.NOTHING
            case ir.Choice(items):
                parts = tuple(self._restrict(item, ranges, first, outer) for item in items)
                return expr if all(a is b for a, b in zip(parts, items, strict=True)) else choice(parts)
            case ir.Sequence(items):
                return self._restrict_sequence(expr, items, ranges, first, outer)
            case ir.Repeat(item, low, high):
                if high == 0:
                    return ir.NOTHING
                part = self._restrict(item, ranges, first)
                if part is item and low > 0:
                    return expr
                if is_nothing(part):
                    return ir.NOTHING
                # items that are empty may stand before the first that is not: they count as others that are
                least = max(low - 1, 0) if not nullable(item) else 0
                rest = repeat(item, least, None if high is None else high - 1)
                return concat([part, rest] if first else [rest, part])
            case ir.Intersection(items):
                return ir.Intersection((self._restrict(items[0], ranges, first), *items[1:]))
            case ir.Complement():
                one = char_class(ranges)
                return ir.Intersection((expr, concat([one, ir.ANY_TEXT] if first else [ir.ANY_TEXT, one])))
            case _:
                raise TypeError(f"not an expression of a regex: {expr!r}")

    def _restrict_sequence(
        self, expr: ir.Expr, items: tuple[ir.Expr, ...], ranges: Ranges, first: bool, outer: bool
    ) -> ir.Expr:
        options: list[ir.Expr] = []
        rest = items
        while rest:
            item = rest[0] if first else rest[-1]
            others = rest[1:] if first else rest[:-1]
            part = self._restrict(item, ranges, first, outer and not others)
            if part is item and rest is items:
                return expr
            self.written += len(rest)
            if self.written > MAX_WRITTEN:
                raise CannotSplit
            options.append(concat([part, *others] if first else [*others, part]))
            if not nullable(item):
                break
            rest = others
        return choice(options)

    def _edge_character(self, data: bytes, first: bool) -> int:
        """Return the first or the last character of a literal; of one that is not UTF-8, the byte."""
        if not self.as_bytes:
            try:
                text = data.decode()
            except UnicodeDecodeError:
                pass
            else:
                return ord(text[0] if first else text[-1])
        return data[0] if first else data[-1]


def _restrict_byte(expr: ir.Expr, mask: int, ranges: Ranges) -> ir.Expr:
    wanted = sets.mask_of(sets.intersect(ranges, sets.BYTES))
    if ranges and ranges[-1][1] > 0xFF:
        # code points: what is ASCII is a byte; beyond, all bytes or none
        wanted = sets.mask_of(sets.intersect(ranges, ((0, 0x7F),)))
        if mask & charclass.NON_ASCII_MASK:
            if not is_ascii_test(ranges):
                raise CannotSplit
            if ranges[-1][1] >= ir.MAX_CODE_POINT:
                wanted |= charclass.NON_ASCII_MASK
    both = mask & wanted
    return expr if both == mask else byte_class(sets.ranges_of(both))


NON_ASCII: Final = charclass.normalize([(0x80, ir.MAX_CODE_POINT)])


def is_ascii_test(ranges: Ranges) -> bool:
    """Return whether the ranges hold everything beyond ASCII, or nothing of it, so that bytes will do."""
    beyond = sets.intersect(ranges, NON_ASCII)
    return beyond == NON_ASCII or (not beyond and (not ranges or ranges[-1][1] != INVALID))


def contains(ranges: Ranges, code: int) -> bool:
    """Return whether the code point is in the ranges."""
    return any(low <= code <= high for low, high in ranges)
