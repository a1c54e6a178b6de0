"""How names are written: as words where they are no keywords, and in quotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from stackmask.grammar.ir import (
    CharClass,
    Choice,
    Complement,
    Expr,
    Intersection,
    Literal,
    Repeat,
    RuleRef,
    RuleSet,
    Sequence,
)
from stackmask.grammar.sql.calls.functions import names_pattern
from stackmask.grammar.sql.scope.shared.relations import fold

WORD: Final = re.compile(r"[A-Za-z_\x80-\U0010FFFF][A-Za-z0-9_$\x80-\U0010FFFF]*")
# an alias that is used before FROM gives it: of the others each would have masks of its own at every place
SHORT: Final = Sequence(
    (Repeat(CharClass(((65, 90), (97, 122))), 1, 3), Repeat(CharClass(((48, 57),)), 0, 4))
)
LONG: Final = Sequence(  # longer than any name that is hidden, so that a word can always go on to another one
    (
        CharClass(((65, 90), (95, 95), (97, 122))),
        Repeat(CharClass(((48, 57), (65, 90), (95, 95), (97, 122))), 0, 100),
    )
)
KEPT_SETS: Final = 4096
# Whether a word is a keyword. A key of what is remembered: a pattern itself takes 15 µs to be hashed.
Keywords: TypeAlias = Callable[[str], re.Match[str] | None]


@dataclass(frozen=True)
class Words:
    """What of a dialect's words the names depend on."""

    reserved: Keywords  # never a name
    no_column: Keywords  # no column without a qualifier
    free: Expr  # any short word that may be an alias
    new: Expr  # any word that may be a column or a table

    @classmethod
    def of(cls, rules: RuleSet) -> Words:
        """Read the words of `sqlite.ebnf` in rules that import it."""
        bodies = {name: rule.body for name, rule in rules.rules.items()}
        reserved, no_column = (
            written_out(RuleRef(name), bodies) for name in ("sqlite.reserved", "NO_COLUMN")
        )
        return cls(
            names_pattern(reserved, {}).fullmatch,
            names_pattern(no_column, {}).fullmatch,
            Intersection((SHORT, Complement(no_column))),
            Intersection((LONG, Complement(no_column))),
        )

    @staticmethod
    def numbers(most: int) -> Expr:
        """Return the numbers from 1 on."""
        return _numbers(most)


@lru_cache(maxsize=256)
def _numbers(most: int) -> Expr:
    return Choice(tuple(Literal(str(n).encode()) for n in range(1, most + 1)))


def written_out(expr: Expr, rules: Mapping[str, Expr]) -> Expr:
    """Return the expression with what its references mean in their place; they must not lead back."""
    match expr:
        case RuleRef(name):
            return written_out(rules[name], rules)
        case Sequence(items):
            return Sequence(tuple(written_out(item, rules) for item in items))
        case Choice(items):
            return Choice(tuple(written_out(item, rules) for item in items))
        case Repeat(item, low, high):
            return Repeat(written_out(item, rules), low, high)
    return expr


@lru_cache(maxsize=KEPT_SETS)
def spellings(names: frozenset[str], keywords: Keywords) -> Expr:
    """Return all ways to write the names. The same names give the same object, whose term is remembered."""
    return Choice(tuple(way for name in sorted(names) for way in _ways(name, keywords)))


@lru_cache(maxsize=65536)
def _ways(name: str, keywords: Keywords) -> tuple[Expr, ...]:
    ways = []
    if WORD.fullmatch(name) and not keywords(fold(name)):
        ways.append(caseless(name))
    for quote in '"`':
        ways.append(caseless(quote + name.replace(quote, quote + quote) + quote))
    if "]" not in name:
        ways.append(caseless(f"[{name}]"))
    return tuple(ways)


@lru_cache(maxsize=65536)
def caseless(text: str) -> Expr:
    """Return the text, its ASCII letters in capitals or not."""
    parts: list[Expr] = []
    plain = ""
    for char in text:
        if char.isascii() and char.isalpha():
            if plain:
                parts.append(Literal(plain.encode()))
                plain = ""
            low, up = ord(char.lower()), ord(char.upper())
            parts.append(CharClass(((up, up), (low, low))))
        else:
            plain += char
    if plain:
        parts.append(Literal(plain.encode()))
    return Sequence(tuple(parts))
