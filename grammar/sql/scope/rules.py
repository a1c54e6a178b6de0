"""Put the places and the functions into the rules of the dialect, and the schema into the state that they start in."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from stackmask.grammar.ebnf.lower import SKIP_RULE
from stackmask.grammar.ebnf.modules import load_rules
from stackmask.grammar.files import read_text
from stackmask.grammar.ir import (
    Capture,
    Choice,
    Dynamic,
    Expr,
    Literal,
    Repeat,
    RuleRef,
    RuleSet,
    follows_restrictions,
)
from stackmask.grammar.normalize import normalize
from stackmask.grammar.normalize.build import with_bodies
from stackmask.grammar.sql.calls import WORD_END, numbers_up_to, seq, without_empty
from stackmask.grammar.sql.functions import Arity, Functions
from stackmask.grammar.sql.scope.functions import call_rules
from stackmask.grammar.sql.scope.names import Words
from stackmask.grammar.sql.scope.places import PLACES
from stackmask.grammar.sql.scope.relations import Catalog
from stackmask.grammar.sql.scope.resolvers import resolvers
from stackmask.grammar.sql.scope.state import Query

FOLDER: Final = Path(__file__).parents[1]
Groups: TypeAlias = tuple[tuple[Arity, tuple[str, ...]], ...]
Listed: TypeAlias = tuple[tuple[tuple[str, Groups], ...], tuple[str, ...]]


def scoped_rules(
    catalog: Catalog,
    functions: Functions,
    *,
    max_limit: int | None,
    allow_comments: bool,
    escape: str | None,
) -> tuple[RuleSet, RuleSet]:
    """Return the rules as written and as the automaton needs them.

    Cost: all that depends on the schema is the state that they start in; the rest is remembered.
    """
    by_kind = tuple((kind, tuple(groups.items())) for kind, groups in functions.by_kind.items())
    written, ready = _shared((by_kind, functions.unlisted), max_limit, allow_comments, escape)
    start = Query(catalog, None, "root")
    return replace(written, initial=start), replace(ready, initial=start)


@lru_cache(maxsize=32)
def _shared(
    listed: Listed, max_limit: int | None, allow_comments: bool, escape: str | None
) -> tuple[RuleSet, RuleSet]:
    base = _dialect(max_limit is not None)
    bodies: dict[str, Expr] = {name: rule.body for name, rule in base.rules.items()}
    by_kind, unlisted = listed
    bodies |= call_rules(Functions({kind: dict(groups) for kind, groups in by_kind}, unlisted))
    names = resolvers(Words.of(base))
    for name, resolver in names.items():
        bodies[name] = Dynamic(follows_restrictions(resolver))
    # the words that no state knows have masks of their own, which all states share
    bodies["QUALIFIER"] = Choice((bodies["QUALIFIER"], bodies.pop("FREE_QUALIFIER")))
    for name, action in PLACES.items():
        if name in bodies:
            bodies[name] = Capture(bodies[name], action)
    for name in names.keys() & bodies.keys():
        bodies[name] = seq(bodies[name], WORD_END)
    if not allow_comments:
        bodies[SKIP_RULE] = Repeat(RuleRef("sqlite.blank"), 0, None)
    if max_limit is not None:
        bodies["MAX_ROWS"] = seq(numbers_up_to(max_limit), WORD_END)
    if escape is not None:
        bodies[base.start] = Choice((bodies[base.start], Literal(escape.encode())))
    written = with_bodies(base, without_empty(bodies))
    return written, normalize(written)


@lru_cache(maxsize=4)
def _dialect(limited: bool) -> RuleSet:
    path = FOLDER / "scoped_sqlite.ebnf"
    text = read_text(path)
    return load_rules(
        text, name=f"stackmask/{path.name}", base=path.parent, start="limited" if limited else "root"
    )
