"""The strings of an expression, restricted by first and last character for anchors and word boundaries.

All methods of ``Ends`` keep counters, and return an expression of the same size up to a constant for each
nullable item. The results never contain the empty string.

Byte strings need not be UTF-8. A Unicode word boundary in them considers whole characters, as in Rust's
``regex::bytes``: if the adjacent bytes are not a character, it sees neither a word character nor another one.
``INVALID`` represents this among the ranges. Before a position, it looks for the last byte that can begin a
character, at most four bytes back, and uses the character there, even if further continuation bytes follow
this character.
"""

from __future__ import annotations

from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, is_nothing, repeat
from stackmask.grammar.languages.classes import (
    BYTES,
    byte_class,
    char_class,
    complement,
    intersect,
    mask_of,
    ranges_of,
)
from stackmask.grammar.languages.forms import concat, nullable
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

MAX_WRITTEN: Final = 50_000  # items of sequences with their first or last character restricted


class CannotSplit(Exception):
    """The strings of an expression cannot be split by their first or last character."""


class Ends:
    """Splits expressions over text, or over bytes: then ranges are of bytes, and literals are not decoded."""

    def __init__(self, as_bytes: bool) -> None:
        self.as_bytes = as_bytes
        self.any = BYTES if as_bytes else charclass.ANY
        self.written = 0  # items of sequences so far

    def begin(self, expr: ir.Expr, ranges: Ranges, outer: bool = False) -> ir.Expr:
        """Return the strings of the expression whose first character is in the ranges.

        ``outer``: the expression extends to the end of the text.
        """
        return self._restrict(expr, ranges, True, outer)

    def end(self, expr: ir.Expr, ranges: Ranges, outer: bool = False) -> ir.Expr:
        """Return the strings of the expression whose last character is in the ranges.

        ``outer``: the expression begins at the start of the text.
        """
        return self._restrict(expr, ranges, False, outer)

    def nonempty(self, expr: ir.Expr) -> ir.Expr:
        """Return the non-empty strings of the expression."""
        return self.begin(expr, self.any) if nullable(expr) else expr

    # recursion is as deep as the expression, which the reader limits
    def _restrict(self, expr: ir.Expr, ranges: Ranges, first: bool, outer: bool = False) -> ir.Expr:
        if outer and ranges and ranges[-1][1] > 0xFF and expr == _EVERY and not is_ascii_test(ranges):
            return choice(first_character(ranges) if first else last_character(ranges))
        match expr:
            case ir.CharClass(own):
                both = intersect(own, ranges)
                return expr if both == own else char_class(both)
            case ir.ByteClass(mask):
                return _restrict_byte(expr, mask, ranges)
            case ir.Literal(data):
                if not data:
                    return ir.NOTHING
                code = self._edge_character(data, first)
                return expr if any(low <= code <= high for low, high in ranges) else ir.NOTHING
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
                least = max(low - 1, 0) if not nullable(item) else 0  # mutant: other-rounds
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
        """Return the first or the last character of a literal, or the byte if the literal is not UTF-8."""
        if not self.as_bytes:
            try:
                text = data.decode()
            except UnicodeDecodeError:
                pass
            else:
                return ord(text[0] if first else text[-1])
        return data[0] if first else data[-1]


def _restrict_byte(expr: ir.Expr, mask: int, ranges: Ranges) -> ir.Expr:
    wanted = mask_of(intersect(ranges, BYTES))
    if ranges and ranges[-1][1] > 0xFF:
        # code points: what is ASCII is a byte; beyond, all bytes or none
        wanted = mask_of(intersect(ranges, ((0, 0x7F),)))
        if mask & charclass.NON_ASCII_MASK:
            if not is_ascii_test(ranges):
                raise CannotSplit
            if ranges[-1][1] >= ir.MAX_CODE_POINT:
                wanted |= charclass.NON_ASCII_MASK
    both = mask & wanted
    return expr if both == mask else byte_class(ranges_of(both))


NON_ASCII: Final = charclass.normalize([(0x80, ir.MAX_CODE_POINT)])


def is_ascii_test(ranges: Ranges) -> bool:
    """Return whether the ranges contain all characters beyond ASCII, or none, so that bytes suffice."""
    beyond = intersect(ranges, NON_ASCII)
    return beyond == NON_ASCII or (not beyond and (not ranges or ranges[-1][1] != INVALID))


INVALID: Final = ir.MAX_CODE_POINT + 1  # in ranges of a side: no character at all

_TAIL: Final[Ranges] = ((0x80, 0xBF),)
# first byte → what the second has to be, for characters of two bytes and more (Unicode 15, table 3-7)
_HEADS: Final[tuple[tuple[Ranges, Ranges, int], ...]] = (
    (((0xC2, 0xDF),), _TAIL, 2),
    (((0xE0, 0xE0),), ((0xA0, 0xBF),), 3),
    (((0xE1, 0xEC), (0xEE, 0xEF)), _TAIL, 3),
    (((0xED, 0xED),), ((0x80, 0x9F),), 3),
    (((0xF0, 0xF0),), ((0x90, 0xBF),), 4),
    (((0xF1, 0xF3),), _TAIL, 4),
    (((0xF4, 0xF4),), ((0x80, 0x8F),), 4),
)
_NEVER: Final[Ranges] = ((0xC0, 0xC1), (0xF5, 0xFF))  # begin no character, and continue none
_LENGTHS: Final = ((1, 0, 0x7F), (2, 0x80, 0x7FF), (3, 0x800, 0xFFFF), (4, 0x10000, ir.MAX_CODE_POINT))
_LONGEST: Final = 4
_EVERY: Final[ir.Expr] = ir.Repeat(ir.ByteClass((1 << 256) - 1), 0, None)


def with_invalid(ranges: Ranges) -> Ranges:
    """Return the ranges together with INVALID."""
    return charclass.normalize((*ranges, (INVALID, INVALID)))


def first_character(ranges: Ranges) -> list[ir.Expr]:
    """Return the byte strings, up to the end of the text, that begin with one of the characters."""
    chars = intersect(ranges, ((0, ir.MAX_CODE_POINT),))
    found: list[ir.Expr] = [ir.Sequence((char_class(chars), _EVERY))] if chars else []
    if _has_invalid(ranges):
        found.append(ir.Sequence((byte_class((*_TAIL, *_NEVER)), _EVERY)))
        for head, second, length in _HEADS:
            so_far: list[ir.Expr] = [byte_class(head)]
            for at in range(1, length):
                wanted = second if at == 1 else _TAIL
                found.append(ir.Sequence(tuple(so_far)))  # the text ends within the character
                found.append(ir.Sequence((*so_far, byte_class(complement(wanted, BYTES)), _EVERY)))
                so_far.append(byte_class(wanted))
    return found


def last_character(ranges: Ranges) -> list[ir.Expr]:
    """Return the byte strings, from the beginning of the text, that end with one of the characters."""
    found: list[ir.Expr] = []
    tail = byte_class(_TAIL)
    for length, low, high in _LENGTHS:
        chars = intersect(ranges, ((low, high),))
        if chars:
            more = ir.Repeat(tail, 0, _LONGEST - length)
            found.append(ir.Sequence((_EVERY, char_class(chars), more)))
    if not _has_invalid(ranges):
        return found
    found.append(ir.Sequence((_EVERY, ir.Repeat(tail, _LONGEST, _LONGEST))))
    found.append(ir.Repeat(tail, 1, _LONGEST - 1))
    found.append(ir.Sequence((_EVERY, byte_class(_NEVER), ir.Repeat(tail, 0, _LONGEST - 1))))
    for head, second, length in _HEADS:
        found.append(ir.Sequence((_EVERY, byte_class(head), ir.Repeat(tail, 0, length - 2))))
        wrong = intersect(complement(second, BYTES), _TAIL)
        if wrong:
            rest = ir.Repeat(tail, length - 2, _LONGEST - 2)
            found.append(ir.Sequence((_EVERY, byte_class(head), byte_class(wrong), rest)))
    return found


def _has_invalid(ranges: Ranges) -> bool:
    return bool(ranges) and ranges[-1][1] == INVALID
