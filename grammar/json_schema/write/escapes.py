"""The one way in which ``json.dumps(ensure_ascii=False)`` writes a character, out of all that JSON has."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice
from stackmask.grammar.source import charclass

_ESCAPED: Final = {
    code: json.dumps(chr(code), ensure_ascii=False)[1:-1] for code in (*range(0x20), 0x22, 0x5C)
}
"""The characters that must be escaped, and how."""

_BACKSLASH: Final = ir.Literal(b"\\")
_U: Final = b"\\u"


def is_escape(expr: ir.Expr) -> bool:
    """Return whether an expression is a backslash and what may follow it, as strings are spelled."""
    match expr:
        case ir.Sequence((ir.Literal(data), *_)):
            return data.startswith(b"\\")
        case _:
            return False


@lru_cache(4096)
def written_escape(escape: ir.Sequence) -> ir.Expr:
    """Return, of the escapes of a class of characters, those that must be written so; NOTHING if none must."""
    codes = [code for code, text in _ESCAPED.items() if _accepts(escape, text)]
    short = [ord(_ESCAPED[code][1]) for code in codes if len(_ESCAPED[code]) == 2]
    after: list[ir.Expr] = []
    if short:
        after.append(ir.CharClass(charclass.normalize((c, c) for c in short)))
    for sixteen in (0, 1):
        digits = [
            ord(_ESCAPED[code][5]) for code in codes if len(_ESCAPED[code]) > 2 and code >> 4 == sixteen
        ]
        if digits:
            last = ir.CharClass(charclass.normalize((c, c) for c in digits))
            after.append(ir.Sequence((ir.Literal(b"u00%d" % sixteen), last)))
    return ir.Sequence((_BACKSLASH, choice(after))) if after else ir.NOTHING


def with_written_escapes(sequence: ir.Sequence) -> list[ir.Expr] | None:
    """Return the items of a sequence, the escapes of a class among them as one item; None if there are none.

    A class of which every character must be escaped is no expression of its own there: a backslash, and what follows.
    """
    items = sequence.items
    found: list[ir.Expr] = []
    changed = False
    at = 0
    while at < len(items):
        item = items[at]
        if isinstance(item, ir.Literal) and item.data.startswith(b"\\"):
            end = _end_of_escape(items, at)
            found.append(written_escape(ir.Sequence(items[at:end])))
            changed = True
            at = end
        else:
            found.append(item)
            at += 1
    return found if changed else None


def written_character(word: bytes) -> bytes:
    """Return how a character is written that JSON may spell like this."""
    return json.dumps(json.loads(b'"' + word + b'"'), ensure_ascii=False)[1:-1].encode()


def _end_of_escape(items: tuple[ir.Expr, ...], at: int) -> int:
    """Return where the escape that begins at an item ends: after a choice, or four digits."""
    first = items[at]
    assert isinstance(first, ir.Literal)
    if first.data == b"\\" and not isinstance(items[at + 1], ir.Literal):
        return at + 2
    left = len(_U) + 4 - len(first.data)
    at += 1
    while left > 0:
        match items[at]:
            case ir.Literal(data):
                left -= len(data)
            case ir.CharClass():
                left -= 1
            case _:
                left = 0
        at += 1
    return at


def _accepts(expr: ir.Expr, text: str) -> bool:
    """Return whether an expression of at most some digits has a text."""
    return "" in _rests(expr, {text})


def _rests(expr: ir.Expr, texts: set[str]) -> set[str]:
    """Return what may be left of texts. Recursion: as deep as the digits of an escape."""
    match expr:
        case ir.Literal(data):
            word = data.decode()
            return {text[len(word) :] for text in texts if text.startswith(word)}
        case ir.CharClass(ranges):
            return {t[1:] for t in texts if t and any(low <= ord(t[0]) <= high for low, high in ranges)}
        case ir.Sequence(items):
            for item in items:
                texts = _rests(item, texts)
            return texts
        case ir.Choice(items):
            return set().union(*(_rests(item, texts) for item in items))
        case _:
            return set()
