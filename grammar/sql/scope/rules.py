"""Put the places and the functions into the rules of the dialect, and the schema into the state that they start in."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from stackmask.grammar.ir import (
    NOTHING,
    Capture,
    Choice,
    Dynamic,
    Expr,
    Literal,
    RuleRef,
    RuleSet,
    follows_restrictions,
)
from stackmask.grammar.ir.build import with_bodies
from stackmask.grammar.normalize import normalize
from stackmask.grammar.ready import written_rules
from stackmask.grammar.source.work import spend, uncounted
from stackmask.grammar.sql.calls.calls import WORD_END, numbers_up_to, seq, without_empty
from stackmask.grammar.sql.calls.functions import Functions, names_pattern
from stackmask.grammar.sql.calls.spelling import QuerySpelling
from stackmask.grammar.sql.scope import clause_actions, from_actions, query_actions  # noqa: F401  their places
from stackmask.grammar.sql.scope.actions import PLACES
from stackmask.grammar.sql.scope.functions import postgres_calls, sqlite_calls
from stackmask.grammar.sql.scope.names import Words, caseless, written_out
from stackmask.grammar.sql.scope.relations import Catalog
from stackmask.grammar.sql.scope.resolvers import resolvers
from stackmask.grammar.sql.scope.state import Query, TableReading

FREE: Final = "FREE_"  # dynamic rules with this prefix are another way to write the rule behind it
FOLDER: Final = Path(__file__).parent
CALLS: Final = {"sqlite": sqlite_calls, "postgres": postgres_calls}
KEYWORDS: Final = {"sqlite": "sqlite.reserved", "postgres": "NO_NAME"}  # that are no names of tables


def scoped_rules(
    catalog: Catalog,
    functions: Functions,
    *,
    max_limit: int | None,
    escape: str | None,
    without_from: bool,
    spelling: QuerySpelling,
) -> tuple[RuleSet, RuleSet]:
    """Return the rules as written and as the automaton needs them.

    Cost: all that depends on the schema is the state that they start in; the rest is remembered.
    """
    # what the dialect takes is the package's own, what the request adds to it is small
    names = sum(len(names) for _, _, names in functions.groups)
    spend(2_000 + 100 * names + (4 * len(escape) if escape else 0))
    written, ready = _shared(catalog.dialect.name, functions, max_limit, escape, spelling)
    catalog.is_keyword = partial(_is_keyword, catalog.dialect.name)
    start = Query(catalog, None, "root", reading=TableReading(not without_from))
    return replace(written, initial=start), replace(ready, initial=start)


@lru_cache(maxsize=32)
@uncounted
def _shared(
    name: str,
    functions: Functions,
    max_limit: int | None,
    escape: str | None,
    spelling: QuerySpelling,
) -> tuple[RuleSet, RuleSet]:
    base = _rules(name, max_limit is not None)
    bodies: dict[str, Expr] = {rule: body.body for rule, body in base.rules.items()}
    bodies = spelling.respell(bodies | _calls(name, functions), f"{name}.")
    keyword = _capitals if spelling.keywords == "upper" else caseless
    dynamic = resolvers(Words.of(base, name), keyword("ON"), keyword("USING"))
    names = {rule: resolver for rule, resolver in dynamic.items() if rule.removeprefix(FREE) in bodies}
    for rule, resolver in names.items():
        bodies[rule] = Dynamic(follows_restrictions(resolver))
    # words that no state knows stand by themselves: their masks are the same in all states
    for free in [rule for rule in names if rule.startswith(FREE)]:
        listed_names = free.removeprefix(FREE)
        bodies[listed_names] = Choice((bodies[listed_names], bodies.pop(free)))
    for rule, action in PLACES[name].items():
        if rule in bodies:
            bodies[rule] = Capture(bodies[rule], action)
    for rule in names.keys() & bodies.keys():
        bodies[rule] = seq(bodies[rule], WORD_END)  # mutant: word-end
    if spelling.double_quotes == "names":
        bodies["TEXT"] = NOTHING
    if max_limit is not None:
        bodies["MAX_ROWS"] = seq(numbers_up_to(max_limit), WORD_END)
    if escape is not None:
        bodies[base.start] = Choice((bodies[base.start], Literal(escape.encode())))
    written = with_bodies(base, without_empty(bodies))
    return written, normalize(written)


def _capitals(word: str) -> Expr:
    return Literal(word.encode())


@lru_cache(maxsize=32)
@uncounted
def _calls(name: str, functions: Functions) -> dict[str, Expr]:
    """Return the rules of the functions, remembered: other arguments may differ."""
    return CALLS[name](functions)


def _is_keyword(dialect: str, name: str) -> bool:
    return _keywords(dialect).fullmatch(name) is not None


@lru_cache(maxsize=4)
@uncounted
def _keywords(dialect: str) -> re.Pattern[str]:
    bodies = {rule: body.body for rule, body in _rules(dialect, False).rules.items()}
    return names_pattern(written_out(RuleRef(KEYWORDS[dialect]), bodies), {})


@lru_cache(maxsize=4)
@uncounted
def _rules(name: str, limited: bool) -> RuleSet:
    path = FOLDER / f"scoped_{name}.ebnf"
    return written_rules(path, f"stackmask/{path.name}", "limited" if limited else "root")
