"""Strings of JSON written in one way, of the many that JSON has: as ``json.dumps(ensure_ascii=False)`` does.

JSON has many spellings of one text, so that hardly anything is ever forced: `"name"` may begin with `\\u006e`. Here
the choice of the spellings of one character becomes the first of them. So does a class of characters of which none needs
an escape: the digits of a date are digits, so that what stands before them is not followed by a backslash. No value is
lost. Classes with a quote, a backslash or a control character, and so all free text, keep all their spellings in
``plain_text`` (which is for keys, `enum`, `const` and the fixed characters of a `pattern`), and have one in ``written_text``.

What stands under a complement is left alone: to leave out a text is to leave out all of its spellings.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice as any_of
from stackmask.grammar.json_schema.text.strings import is_free_of_escapes
from stackmask.grammar.json_schema.write.escapes import (
    is_escape,
    with_written_escapes,
    written_character,
    written_escape,
)

NARROWING: Final = (
    "Keys, enum and const, and classes of characters that need no escape, are written as json.dumps(ensure_ascii=False) "
    "writes them."
)
FREE_NARROWING: Final = "Strings are written as json.dumps(ensure_ascii=False) writes them."


def plain_text(expr: ir.Expr) -> ir.Expr | None:
    """Return one spelling of a fixed character, or of a class that needs no escape; None for anything else."""
    return _first_spelling(expr) if isinstance(expr, ir.Choice) else None


def written_text(expr: ir.Expr) -> ir.Expr | None:
    """Return the spelling of a character or class that ``json.dumps`` writes; None for anything else.

    Of a sequence: the same one with such classes as items of their own, None if there are none.
    """
    if isinstance(expr, ir.Sequence):
        if is_escape(expr) and written_escape(expr) == expr:
            return None
        items = with_written_escapes(expr)
        return None if items is None else ir.Sequence(tuple(items))
    if not isinstance(expr, ir.Choice):
        return None
    match expr.items:
        case (ir.CharClass() as plain, ir.Sequence() as escape) if is_escape(escape):
            return any_of((plain, written_escape(escape)))
    found = _first_spelling(expr)
    return ir.Literal(written_character(found.data)) if isinstance(found, ir.Literal) else found


def _first_spelling(choice: ir.Choice) -> ir.Expr | None:
    """Return the plain spelling, if the choice is of all the spellings of one character, or of such a class."""
    match choice.items:
        case (ir.Literal(first), ir.Literal(), *_) if all(
            isinstance(item, ir.Literal) for item in choice.items
        ):
            words = tuple([item.data for item in choice.items if isinstance(item, ir.Literal)])
            return ir.Literal(first) if _are_one_character(words) else None
        case (ir.CharClass(((low, high),)), escaped) if low == high > 0xFFFF and not isinstance(
            escaped, ir.CharClass
        ):
            return ir.Literal(chr(low).encode())
        case (ir.CharClass() as plain, _) if is_free_of_escapes(choice):
            return plain
        case _:
            return None


@lru_cache(4096)
def _are_one_character(words: tuple[bytes, ...]) -> bool:
    if len(words) < 2 or not any(word.startswith(b"\\u") for word in words):
        return False
    try:
        read = {json.loads(b'"' + word + b'"') for word in words}
    except ValueError:
        return False
    return len(read) == 1 and len(read.pop()) == 1
