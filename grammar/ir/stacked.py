"""The meaning of the stack's top for `top`, `level` and `deeper`, and the texts that `new` refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from stackmask.grammar.ir import CharClass, Choice, Expr, Intersection, Literal, Repeat
from stackmask.grammar.ir.build import choice, sequence

TAB: Final = 8  # columns
_BLANK: Final = CharClass(((0x09, 0x09), (0x20, 0x20)))
_SPACE: Final = Literal(b" ")
_CELL: Final = choice([Repeat(_SPACE, TAB, TAB), sequence([Repeat(_SPACE, 0, TAB - 1), Literal(b"\t")])])


class NewText(bytes):
    """A text that `new` has put on the stack of a recogniser."""

    __slots__ = ()


def is_taken(stack: tuple[bytes, ...], text: bytes) -> bool:
    """Return whether `new` has put a text on the stack after the last text from `push`."""
    for each in reversed(stack):
        if not isinstance(each, NewText):
            return False
        if each == text:
            return True
    return False


def indentation(text: bytes) -> tuple[int, int]:
    """Return the indentation of a text, as Python's tokenizer counts: in columns (tabs of eight) and in
    characters.

    Text up to its last character other than space and tab does not count.
    """
    column = count = 0
    for byte in text:
        if byte == 0x09:
            column += TAB - column % TAB
        else:
            column = column + 1 if byte == 0x20 else 0
        count = count + 1 if byte in b" \t" else 0
    return column, count


def level(text: bytes) -> Expr:
    """Return the spaces and tabs with the indentation of a text; for an unindented text, nothing matches."""
    column, count = indentation(text)
    cells, rest = divmod(column, TAB)
    if not cells:
        return Literal(b" " * rest) if rest else Choice(())
    if column == count:  # each character is a column: a tab can only be the eighth of a cell
        cell = sequence([Literal(b" " * (TAB - 1)), _BLANK])
        return sequence([Repeat(cell, cells, cells), Literal(b" " * rest)])
    columns = sequence([Repeat(_CELL, cells, cells), Literal(b" " * rest)])
    return Intersection((Repeat(_BLANK, count, count), columns))


def deeper(text: bytes) -> Expr:
    """Return the spaces and tabs with more indentation than a text, in both ways of counting."""
    column, count = indentation(text)
    if column == count:  # no character is less than a column
        return Repeat(_BLANK, count + 1, None)
    cells, rest = divmod(column + 1, TAB)
    begun = sequence([Repeat(_SPACE, 0, max(rest - 1, 0)), Literal(b"\t")])
    last = choice([Literal(b" " * rest), *([begun] if rest else [])])
    columns = sequence([Repeat(_CELL, cells, cells), last, Repeat(_BLANK, 0, None)])
    return Intersection((Repeat(_BLANK, count + 1, None), columns))


ANSWERS: Final[Mapping[str, Callable[[bytes], Expr]]] = {"top": Literal, "level": level, "deeper": deeper}
