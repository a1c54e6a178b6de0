"""Texts that the schema fixes (keys, `enum`, `const`, the fixed characters of a `pattern`), written in one way.

JSON has many spellings of one text, so that hardly anything is ever forced: `"name"` may begin with `\\u006e`. Here
the choice of the spellings of one character becomes the first of them, which is what ``json.dumps`` writes with
``ensure_ascii=False``. So does a class of characters of which none needs an escape: the digits of a date are digits, so
that what stands before them is not followed by a backslash. No value is lost; classes with a quote, a backslash or a
control character, and so all free text, keep all their spellings.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import rebuild, with_bodies
from stackmask.grammar.json_schema.text.strings import is_free_of_escapes

MAX_KNOWN: Final = 256
NARROWING: Final = (
    "Keys, enum and const, and classes of characters that need no escape, are written as json.dumps(ensure_ascii=False) "
    "writes them."
)


def with_plain_texts(rules: ir.RuleSet) -> ir.RuleSet:
    """Return the rules with one spelling of each fixed character, and of each class that needs no escape.

    What stands under a complement is left alone: to leave out a text is to leave out all of its spellings.
    Cost: linear in the expressions, which are visited once per object; no recursion.
    """
    done: dict[int, ir.Expr] = {}
    return with_bodies(rules, {name: _plain_body(rule, done) for name, rule in rules.rules.items()})


# rules of any JSON value, which all grammars with the same blanks share: the body by its id, and what it became
_known: dict[int, tuple[ir.Expr, ir.Expr]] = {}


def _plain_body(rule: ir.Rule, done: dict[int, ir.Expr]) -> ir.Expr:
    if rule.name != "json" and not rule.name.startswith("json."):
        return _plain(rule.body, done)
    known = _known.get(id(rule.body))
    if known is None:
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        known = _known[id(rule.body)] = (rule.body, _plain(rule.body, done))
    return known[1]


def _plain(expr: ir.Expr, done: dict[int, ir.Expr]) -> ir.Expr:
    stack = [(expr, False)]
    while stack:
        current, ready = stack.pop()
        if id(current) in done:
            continue
        items = () if isinstance(current, ir.Complement) else ir.children(current)
        if isinstance(current, ir.Choice) and (first := _first_spelling(current)) is not None:
            done[id(current)] = first
        elif not items:
            done[id(current)] = current
        elif ready:
            done[id(current)] = rebuild(current, tuple([done[id(item)] for item in items]))
        else:
            stack.append((current, True))
            stack.extend((item, False) for item in items)
    return done[id(expr)]


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
