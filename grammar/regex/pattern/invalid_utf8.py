"""The first and the last character of byte strings that need not be UTF-8, as Rust's ``regex::bytes`` sees them.

A Unicode word boundary asks about whole characters. Where the bytes beside it are no character, it sees neither a word
character nor another one: ``INVALID`` stands for that among the ranges of a side. Behind a place it looks for the last
byte that can begin a character, at most four back, and takes the character there, be it followed by more
continuation bytes than belong to it.
"""

from __future__ import annotations

from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.regex.pattern.reader import byte_class, char_class
from stackmask.grammar.regex.unicode import sets
from stackmask.grammar.source.charclass import Ranges

INVALID: Final = ir.MAX_CODE_POINT + 1  # in ranges of a side: no character at all
_NOTHING_VALID: Final[Ranges] = ((INVALID, INVALID),)

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
    """Return the ranges and what is no character."""
    return (*ranges, *_NOTHING_VALID)


def is_all_bytes(expr: ir.Expr) -> bool:
    """Return whether the expression is every byte string."""
    return expr == _EVERY


def first_character(ranges: Ranges) -> list[ir.Expr]:
    """Return the byte strings, up to the end of the text, that begin with one of the characters."""
    chars = sets.intersect(ranges, ((0, ir.MAX_CODE_POINT),))
    found: list[ir.Expr] = [ir.Sequence((char_class(chars), _EVERY))] if chars else []
    if _has_invalid(ranges):
        found.append(ir.Sequence((byte_class((*_TAIL, *_NEVER)), _EVERY)))
        for head, second, length in _HEADS:
            so_far: list[ir.Expr] = [byte_class(head)]
            for at in range(1, length):
                wanted = second if at == 1 else _TAIL
                found.append(ir.Sequence(tuple(so_far)))  # the text ends within the character
                found.append(ir.Sequence((*so_far, byte_class(sets.complement(wanted, sets.BYTES)), _EVERY)))
                so_far.append(byte_class(wanted))
    return found


def last_character(ranges: Ranges) -> list[ir.Expr]:
    """Return the byte strings, from the beginning of the text on, that end with one of the characters."""
    found: list[ir.Expr] = []
    tail = byte_class(_TAIL)
    for length, low, high in _LENGTHS:
        chars = sets.intersect(ranges, ((low, high),))
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
        wrong = sets.intersect(sets.complement(second, sets.BYTES), _TAIL)
        if wrong:
            rest = ir.Repeat(tail, length - 2, _LONGEST - 2)
            found.append(ir.Sequence((_EVERY, byte_class(head), byte_class(wrong), rest)))
    return found


def _has_invalid(ranges: Ranges) -> bool:
    return bool(ranges) and ranges[-1][1] == INVALID
