"""The spelling of names: as words unless they are keywords, and also in quotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, zip_longest
from typing import Final, TypeAlias

from stackmask.grammar.ir import (
    NOTHING,
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
from stackmask.grammar.sql.calls.calls import caseless, names_pattern
from stackmask.grammar.sql.schema.schema import fold

PLAIN: Final = re.compile(r"[a-z_\x80-\U0010FFFF][a-z0-9_$\x80-\U0010FFFF]*")  # of PostgreSQL
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
LEVELS: Final = 12  # of a trie of names
QUOTE: Final = re.compile(r"""["`\]]""")
# Whether a word is a keyword. A key of what is remembered: a pattern itself takes 15 µs to be hashed.
Keywords: TypeAlias = Callable[[str], re.Match[str] | None]


@dataclass(frozen=True)
class Words:
    """The words that cannot be names. ``column``: of columns without a qualifier; ``name``: of tables;
    ``label``: after a dot; ``qualifier``: before a dot.

    In PostgreSQL a single ``u`` is only a name before a dot: before a quote or &, it begins another element.
    """

    column: Keywords
    name: Keywords
    label: Keywords
    qualifier: Keywords
    free: Expr  # any short word that may be an alias
    new_column: Expr  # any word that may be a column, a table, a column after a dot
    new_table: Expr
    new_member: Expr
    dialect: str

    @classmethod
    def of(cls, rules: RuleSet, dialect: str) -> Words:
        """Read the words from the rules of a dialect."""
        bodies = {name: rule.body for name, rule in rules.rules.items()}
        kinds, member, new_name = KINDS[dialect]
        column, name, label, qualifier = (written_out(RuleRef(kind), bodies) for kind in kinds)
        new = written_out(RuleRef(new_name), bodies) if new_name else NOTHING
        no_member = written_out(RuleRef(member), bodies)
        new_column, new_table, new_member = (
            Intersection((LONG, Complement(Choice((no, new))))) for no in (column, qualifier, no_member)
        )
        return cls(
            names_pattern(column, {}).fullmatch,
            names_pattern(name, {}).fullmatch,
            names_pattern(label, {}).fullmatch,
            names_pattern(qualifier, {}).fullmatch,
            Intersection((SHORT, Complement(qualifier))),
            new_column,
            new_table,
            new_member,
            dialect,
        )

    def spelled(self, names: frozenset[str], keywords: Keywords) -> Expr:
        """Return all spellings of the names. Equal names give the same object, whose term is cached."""
        return _spellings(names, keywords, self.dialect)

    def with_numbers(self, names: frozenset[str], most: int) -> Expr:
        """Return all spellings of the column names, and the numbers from 1 on."""
        return _with_numbers(names, most, self.column, self.dialect)


@lru_cache(maxsize=KEPT_SETS)
def _with_numbers(names: frozenset[str], most: int, keywords: Keywords, dialect: str) -> Expr:
    return Choice((_spellings(names, keywords, dialect), _numbers(most)))


@lru_cache(maxsize=256)
def _numbers(most: int) -> Expr:
    return Choice(tuple(Literal(str(n).encode()) for n in range(1, most + 1)))


def written_out(expr: Expr, rules: Mapping[str, Expr]) -> Expr:
    """Return the expression with its references expanded. They must not be recursive."""
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
def _spellings(names: frozenset[str], keywords: Keywords, dialect: str) -> Expr:
    quotes, word, write = WAYS[dialect]
    if not names:
        return NOTHING
    bare = {fold(name) for name in names if word.fullmatch(name) and not keywords(fold(name))}
    found = [_trie(tuple(sorted(bare)), caseless)]
    # names in different quotes are one expression, but for those that have a quote in them
    unquoted = {fold(name) if write is caseless else name for name in names if not QUOTE.search(name)}
    plain = _trie(tuple(sorted(unquoted)), write)
    for first, last in quotes:
        found.append(Sequence((Literal(first.encode()), plain, Literal(last.encode()))))
        for name in sorted(filter(QUOTE.search, names)):
            if last != "]" or "]" not in name:
                found.append(write(first + name.replace(last, last + last) + last))
    return Choice(tuple(found))


@lru_cache(maxsize=KEPT_SETS)
def _trie(texts: tuple[str, ...], write: Callable[[str], Expr], depth: int = 0) -> Expr:
    """Return sorted strings with common prefixes written once, for a few levels."""
    if len(texts) == 1 or depth == LEVELS:
        return Choice(tuple(map(write, texts)))
    ways: list[Expr] = []
    for _, group in groupby(texts, lambda text: text[:1]):
        alike = tuple(group)
        if len(alike) == 1:
            ways.append(write(alike[0]))
            continue
        size = next(n for n, pair in enumerate(zip_longest(alike[0], alike[-1])) if pair[0] != pair[1])
        rest = _trie(tuple(text[size:] for text in alike), write, depth + 1)
        ways.append(Sequence((write(alike[0][:size]), rest)))
    return Choice(tuple(ways))


def _as_written(text: str) -> Expr:
    return Literal(text.encode())


# rules of the words that are no names: of a column, a table, after a dot, before it; no new name after a dot; no new name
KINDS: Final = {
    "sqlite": (("NO_COLUMN", "sqlite.reserved", "sqlite.reserved", "NO_COLUMN"), "NO_COLUMN", ""),
    "postgres": (("NO_COLUMN", "NO_NAME", "NO_LABEL", "NO_QUALIFIER"), "NO_LABEL", "NO_NEW_NAME"),
}
# quotes of names, words that need none, and how a name in quotes is written
WAYS: Final[dict[str, tuple[tuple[tuple[str, str], ...], re.Pattern[str], Callable[[str], Expr]]]] = {
    "sqlite": ((('"', '"'), ("`", "`"), ("[", "]")), WORD, caseless),
    "postgres": ((('"', '"'),), PLAIN, _as_written),
}
