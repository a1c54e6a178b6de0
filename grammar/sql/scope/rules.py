"""Put the places and the functions into the rules of the dialect, and the schema into the state that they start in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from stackmask.grammar.ir import (
    NOTHING,
    Capture,
    Choice,
    Dynamic,
    Expr,
    Literal,
    RuleRef,
    RuleSet,
    answers_at_most,
    depends_on,
    follows_restrictions,
)
from stackmask.grammar.ir.build import with_bodies
from stackmask.grammar.normalize import normalize
from stackmask.grammar.ready import written_rules
from stackmask.grammar.source.work import spend, uncounted
from stackmask.grammar.sql.calls.calls import (
    WORD_END,
    Functions,
    QuerySpelling,
    caseless,
    names_pattern,
    numbers_up_to,
    seq,
    without_empty,
)
from stackmask.grammar.sql.scope.actions import PLACES
from stackmask.grammar.sql.scope.functions import postgres_calls, sqlite_calls
from stackmask.grammar.sql.scope.lookup import (
    chosen_members,
    chosen_names,
    common_columns,
    group_labels,
    is_named,
    may_be_new,
    must_use,
    named_tables,
    order_names,
    result_names,
    schema_names,
    schema_tables,
    seen_columns,
    seen_members,
    seen_qualifiers,
)
from stackmask.grammar.sql.scope.names import Keywords, Words, written_out
from stackmask.grammar.sql.scope.relations import Catalog
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


# -- The dynamic rules of the dialects: which names may stand at a place. --------------------------------

Resolver: TypeAlias = Callable[[Any], Expr]  # of a Query


def _spelled(names: Callable[[Query], frozenset[str]]) -> Callable[[Query], frozenset[str]]:
    """Return a function of the query: the names as the schema spells them."""

    def spelled(query: Query) -> frozenset[str]:
        found = names(query)
        if query.catalog.dialect.groups:  # names are as they are spelled
            return found
        known = query.catalog.spelled
        return frozenset(known.get(name, name) for name in found)

    return spelled


def _qualifiers(query: Query) -> tuple[frozenset[str], bool, bool]:
    """Return the tables that can stand before a dot, whether any other may, and whether columns may be new."""
    names, may_be_other = seen_qualifiers(query)
    return _spelled(lambda _query: names)(query), may_be_other, query.catalog.new_names


def _members(query: Query) -> frozenset[str]:
    return frozenset(seen_members(query).values())


def _of_qualifier(names: Callable[[Query, str], frozenset[str]]) -> Callable[[Query], frozenset[str]]:
    def of(query: Query) -> frozenset[str]:
        assert query.qualifier is not None
        return names(query, query.qualifier)

    return of


def _chosen_members(query: Query, table: str) -> frozenset[str]:
    return chosen_members(query).get(table, frozenset())


def resolvers(words: Words, on: Expr, using: Expr) -> dict[str, Resolver]:
    """Return the dynamic rules by name."""

    def written(names: Callable[[Query], frozenset[str]], keywords: Keywords) -> Resolver:
        return depends_on(names)(lambda found: words.spelled(found, keywords))

    def numbered(names: Callable[[Query], frozenset[str]], most: Callable[[Query], int]) -> Resolver:
        return depends_on(lambda query: (names(query), most(query)))(lambda found: words.with_numbers(*found))

    def only(test: Callable[[Query], bool], expr: Expr) -> Resolver:
        return depends_on(test)(lambda fits: expr if fits else NOTHING)

    @depends_on(_qualifiers)
    def free_qualifier(found: tuple[frozenset[str], bool, bool]) -> Expr:
        if not found[1]:
            return NOTHING
        return words.new_table if found[2] else words.free

    return {
        "COLUMN": written(_spelled(seen_columns), words.column),
        "FREE_COLUMN": depends_on(_qualifiers)(
            lambda found: words.new_column if found[1] and found[2] else NOTHING
        ),
        "QUALIFIER": depends_on(_qualifiers)(lambda found: words.spelled(found[0], words.qualifier)),
        "FREE_QUALIFIER": free_qualifier,
        "MEMBER": written(_members, words.label),
        "FREE_MEMBER": only(may_be_new, words.new_member),
        "TABLE": written(named_tables, words.name),
        "SCHEMA_NAME": written(schema_names, words.qualifier),
        "SCHEMA_TABLE": written(_of_qualifier(schema_tables), words.label),
        "ON_WORD": answers_at_most(on)(only(lambda query: is_named(query) and not must_use(query), on)),
        "USING_WORD": answers_at_most(using)(
            only(lambda query: is_named(query) and bool(common_columns(query)), using)
        ),
        "USING_COLUMN": written(_spelled(common_columns), words.name),
        "ORDER_LABEL": written(_spelled(order_names), words.column),
        "GROUP_LABEL": written(group_labels, words.column),
        "RESULT_NAME": numbered(_spelled(result_names), lambda query: len(query.head or ())),
        "CHOSEN_NAME": numbered(chosen_names, lambda query: len(query.items)),
        "CHOSEN_QUALIFIER": written(lambda query: frozenset(chosen_members(query)), words.qualifier),
        "CHOSEN_MEMBER": written(_of_qualifier(_chosen_members), words.label),
    }
