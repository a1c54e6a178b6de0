"""How PostgreSQL writes names: words in lower case where they are no keywords, and in double quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from stackmask.grammar.ir import Choice, Complement, Expr, Intersection, Literal, RuleRef, RuleSet
from stackmask.grammar.sql.calls.functions import names_pattern
from stackmask.grammar.sql.scope.shared.names import KEPT_SETS, LONG, SHORT, Keywords, caseless, written_out

WORD: Final = re.compile(r"[a-z_\x80-\U0010FFFF][a-z0-9_$\x80-\U0010FFFF]*")


@dataclass(frozen=True)
class PostgresWords:
    """Which words are no names: ``column`` without a qualifier, ``name`` of a table, ``label`` behind a dot, ``qualifier`` before it.

    A lone ``u`` is none, but before a dot: with a quote or & behind it, it begins another element.
    """

    column: Keywords
    name: Keywords
    label: Keywords
    qualifier: Keywords
    free: Expr  # any short word that may be an alias
    new_column: Expr  # any word that may be a column, a table, a column behind a dot
    new_table: Expr
    new_member: Expr

    @classmethod
    def of(cls, rules: RuleSet) -> PostgresWords:
        """Read the words of `scoped_postgres.ebnf`."""
        bodies = {name: rule.body for name, rule in rules.rules.items()}
        column, name, label, qualifier, new = (
            written_out(RuleRef(f"NO_{kind}"), bodies)
            for kind in ("COLUMN", "NAME", "LABEL", "QUALIFIER", "NEW_NAME")
        )
        return cls(
            names_pattern(column, {}).fullmatch,
            names_pattern(name, {}).fullmatch,
            names_pattern(label, {}).fullmatch,
            names_pattern(qualifier, {}).fullmatch,
            Intersection((SHORT, Complement(qualifier))),
            *(Intersection((LONG, Complement(Choice((words, new))))) for words in (column, qualifier, label)),
        )


@lru_cache(maxsize=KEPT_SETS)
def spellings(names: frozenset[str], keywords: Keywords) -> Expr:
    """Return all ways to write the names. The same names give the same object, whose term is remembered."""
    return Choice(tuple(way for name in sorted(names) for way in _ways(name, keywords)))


@lru_cache(maxsize=65536)
def _ways(name: str, keywords: Keywords) -> tuple[Expr, ...]:
    quoted = Literal(('"' + name.replace('"', '""') + '"').encode())
    if WORD.fullmatch(name) and not keywords(name):
        return caseless(name), quoted
    return (quoted,)
