"""What stands in the boxes of a diagram: short, printable, and with blanks that can be seen."""

from __future__ import annotations

import unicodedata
from typing import Final

from stackmask.grammar.ir import (
    ANY_CHAR,
    MAX_CODE_POINT,
    SURROGATES,
    ByteClass,
    CharClass,
    Expr,
    NotFollowedBy,
)
from stackmask.grammar.ir.dump import dump_expr

MAX_LABEL: Final = 44  # characters; longer ones end with three dots, and the whole is in the box's title
MAX_TITLE: Final = 2_000
MOST_ALLOWED: Final = 6  # characters that may follow, of those that are listed
_SEEN: Final = {" ": "␣", "\n": "↵", "\t": "⇥"}
_BLANKS: Final = frozenset(b" \t\r\n")


def shown(text: str) -> str:
    """Return text without characters that a picture cannot show or that XML does not have."""
    return "".join(
        _SEEN.get(character) or (character if character.isprintable() else ascii(character)[1:-1])
        for character in text
    )


def literal_label(data: bytes) -> str:
    """Return what a literal is called; bytes that are no text are escapes."""
    return shown(data.decode(errors="backslashreplace"))


def class_label(expr: Expr) -> str:
    """Return what one character or byte is called."""
    if isinstance(expr, CharClass) and expr.ranges == ANY_CHAR.ranges:
        return "any character"
    if isinstance(expr, ByteClass) and is_blank(expr):
        return "blank"
    if isinstance(expr, CharClass):
        missing = _others(expr.ranges)
        if expr.ranges[-1:] == ANY_CHAR.ranges[-1:] and len(missing) <= len(expr.ranges) + 1:
            return shown("[^" + dump_expr(CharClass(missing))[1:])
    return shown(dump_expr(expr))


def _others(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of all characters that are not in some ranges."""
    found = []
    next_code = 0
    for low, high in (*ranges, (MAX_CODE_POINT + 1, MAX_CODE_POINT + 1)):
        gap = (next_code, low - 1)
        if gap[0] <= gap[1] and gap != SURROGATES:
            found.append(gap)
        next_code = high + 1
    return tuple(found)


def is_blank(expr: Expr) -> bool:
    """Return whether a byte can only be a blank of JSON."""
    return isinstance(expr, ByteClass) and all(
        byte in _BLANKS for byte in range(256) if expr.mask >> byte & 1
    )


def follow_label(expr: NotFollowedBy) -> str:
    """Return what a follow restriction asks for."""
    allowed = bytes(byte for byte in range(0x80) if not expr.mask >> byte & 1)
    if expr.mask >> 0xFF and len(allowed) <= MOST_ALLOWED:
        return f"only before {literal_label(allowed)} or the end" if allowed else "only at the end"
    return f"not before {expr_label(expr).removeprefix('!>> ')}"


def expr_label(expr: Expr) -> str:
    """Return an expression in the words of the dialect."""
    return shown(dump_expr(expr)).replace("␣", " ")


def cut(label: str) -> str:
    """Return a label that fits a box."""
    return label if len(label) <= MAX_LABEL else label[: MAX_LABEL - 1] + "…"


def extra_columns(label: str) -> int:
    """Return how many columns a label takes beyond one for each character: East Asian ones take two."""
    return sum(unicodedata.east_asian_width(character) in "WF" for character in label)
