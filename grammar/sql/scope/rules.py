"""Add positions and functions to the rules of a dialect, and the schema to their initial state."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.ir.build import with_bodies
from stackmask.grammar.normalize import normalize
from stackmask.grammar.ready import written_rules
from stackmask.grammar.source.work import spend, uncounted
from stackmask.grammar.sql.calls.calls import (
    SKIP,
    WORD_END,
    Arity,
    Functions,
    QuerySpelling,
    arguments,
    caseless,
    names_pattern,
    numbers_up_to,
    ref,
    seq,
    sign,
    without_empty,
    words,
)
from stackmask.grammar.sql.scope.actions import (
    PLACES,
    Action,
    begin_aggregate,
    begin_named_aggregate,
    begin_ranking,
    begin_table_call,
    begin_window_call,
    end_aggregate,
    may_aggregate,
    may_window,
)
from stackmask.grammar.sql.scope.lookup import (
    chosen_members,
    chosen_names,
    common_columns,
    group_labels,
    is_named,
    may_be_new,
    may_call,
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
KEYWORDS: Final = {"sqlite": "sqlite.reserved", "postgres": "NO_NAME"}  # that are no names of tables


def scoped_rules(
    catalog: Catalog,
    functions: Functions,
    *,
    max_limit: int | None,
    escape: str | None,
    without_from: bool,
    spelling: QuerySpelling,
) -> tuple[ir.RuleSet, ir.RuleSet]:
    """Return the rules as written and in normal form.

    Cost: only the initial state depends on the schema; the rest is cached.
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
) -> tuple[ir.RuleSet, ir.RuleSet]:
    base = _rules(name, max_limit is not None)
    bodies: dict[str, ir.Expr] = {rule: body.body for rule, body in base.rules.items()}
    bodies = spelling.respell(bodies | _calls(name, functions), f"{name}.")
    keyword = _capitals if spelling.keywords == "upper" else caseless
    dynamic = resolvers(Words.of(base, name), keyword("ON"), keyword("USING"))
    names = {rule: resolver for rule, resolver in dynamic.items() if rule.removeprefix(FREE) in bodies}
    for rule, resolver in names.items():
        bodies[rule] = ir.Dynamic(ir.follows_restrictions(resolver))
    # words that no state knows stand by themselves: their masks are the same in all states
    for free in [rule for rule in names if rule.startswith(FREE)]:
        listed_names = free.removeprefix(FREE)
        bodies[listed_names] = ir.Choice((bodies[listed_names], bodies.pop(free)))
    for rule, action in PLACES[name].items():
        if rule in bodies:
            bodies[rule] = ir.Capture(bodies[rule], action)
    for rule in names.keys() & bodies.keys():
        bodies[rule] = seq(bodies[rule], WORD_END)  # mutant: word-end
    if spelling.double_quotes == "names":
        bodies["TEXT"] = ir.NOTHING
    if max_limit is not None:
        bodies["MAX_ROWS"] = seq(numbers_up_to(max_limit), WORD_END)
    if escape is not None:
        bodies[base.start] = ir.Choice((bodies[base.start], ir.Literal(escape.encode())))
    written = with_bodies(base, without_empty(bodies))
    return written, normalize(written)


def _capitals(word: str) -> ir.Expr:
    return ir.Literal(word.encode())


@lru_cache(maxsize=32)
@uncounted
def _calls(name: str, functions: Functions) -> dict[str, ir.Expr]:
    """Return the rules of the functions, cached: other arguments may differ."""
    return sqlite_calls(functions) if name == "sqlite" else postgres_calls(functions)


def _is_keyword(dialect: str, name: str) -> bool:
    return _keywords(dialect, KEYWORDS[dialect]).fullmatch(name) is not None


def needs_quotes(dialect: str, name: str) -> bool:
    """Return whether a dialect has the name as a keyword where a column may be written."""
    return _keywords(dialect, "NO_COLUMN").fullmatch(name) is not None


@lru_cache(maxsize=4)
@uncounted
def _keywords(dialect: str, rule: str) -> re.Pattern[str]:
    bodies = {name: body.body for name, body in _rules(dialect, False).rules.items()}
    return names_pattern(written_out(ir.RuleRef(rule), bodies), {})


@lru_cache(maxsize=4)
@uncounted
def _rules(name: str, limited: bool) -> ir.RuleSet:
    path = FOLDER / f"scoped_{name}.ebnf"
    return written_rules(path, f"stackmask/{path.name}", "limited" if limited else "root")


# -- The dynamic rules of the dialects: which names may stand at a place. --------------------------------

Resolver: TypeAlias = Callable[[Any], ir.Expr]  # of a Query


def _spelled(names: Callable[[Query], frozenset[str]]) -> Callable[[Query], frozenset[str]]:
    """Return a function of the query that returns the names in the spelling of the schema."""

    def spelled(query: Query) -> frozenset[str]:
        found = names(query)
        if query.catalog.dialect.groups:  # names are as they are spelled
            return found
        known = query.catalog.spelled
        return frozenset(known.get(name, name) for name in found)

    return spelled


def _qualifiers(query: Query) -> tuple[frozenset[str], bool, bool]:
    """Return the tables allowed before a dot, whether others are allowed, and whether columns may be new."""
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


def resolvers(words: Words, on: ir.Expr, using: ir.Expr) -> dict[str, Resolver]:
    """Return the dynamic rules by name."""

    def written(names: Callable[[Query], frozenset[str]], keywords: Keywords) -> Resolver:
        return ir.depends_on(names)(lambda found: words.spelled(found, keywords))

    def numbered(names: Callable[[Query], frozenset[str]], most: Callable[[Query], int]) -> Resolver:
        return ir.depends_on(lambda query: (names(query), most(query)))(
            lambda found: words.with_numbers(*found)
        )

    def only(test: Callable[[Query], bool], expr: ir.Expr) -> Resolver:
        return ir.depends_on(test)(lambda fits: expr if fits else ir.NOTHING)

    @ir.depends_on(_qualifiers)
    def free_qualifier(found: tuple[frozenset[str], bool, bool]) -> ir.Expr:
        if not found[1]:
            return ir.NOTHING
        return words.new_table if found[2] else words.free

    return {
        "COLUMN": written(_spelled(seen_columns), words.column),
        "FREE_COLUMN": ir.depends_on(_qualifiers)(
            lambda found: words.new_column if found[1] and found[2] else ir.NOTHING
        ),
        "QUALIFIER": ir.depends_on(_qualifiers)(lambda found: words.spelled(found[0], words.qualifier)),
        "FREE_QUALIFIER": free_qualifier,
        "MEMBER": written(_members, words.label),
        "FREE_MEMBER": only(may_be_new, words.new_member),
        "TABLE": written(named_tables, words.name),
        "SCHEMA_NAME": written(schema_names, words.qualifier),
        "SCHEMA_TABLE": written(_of_qualifier(schema_tables), words.label),
        "ON_WORD": ir.answers_at_most(on)(only(lambda query: is_named(query) and not must_use(query), on)),
        "USING_WORD": ir.answers_at_most(using)(
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


# -- Rules for calls: scalar functions anywhere, aggregates and functions with windows where they may stand.

Names = tuple[str, ...]
_OPEN: Final = sign("(")
_ALIAS: Final = [
    "generate_series",
    "generate_subscripts",
    "unnest",
    "regexp_split_to_table",
    "string_to_table",
    "regexp_matches",
    "json_object_keys",
    "jsonb_object_keys",
    "jsonb_path_query",
    "jsonb_path_query_tz",
]
_ELEMENTS: Final = [
    "json_array_elements",
    "json_array_elements_text",
    "jsonb_array_elements",
    "jsonb_array_elements_text",
]
_PAIRS: Final = ["json_each", "json_each_text", "jsonb_each", "jsonb_each_text"]
SETS: Final[dict[str, Names]] = (  # functions that give rows, with the names of their columns
    dict.fromkeys(_ALIAS, ()) | dict.fromkeys(_ELEMENTS, ("value",)) | dict.fromkeys(_PAIRS, ("key", "value"))
)
RECORDS: Final = frozenset(  # of a type that the query must spell out
    f"{kind}_{what}"
    for kind in ("json", "jsonb")
    for what in ("to_record", "to_recordset", "populate_record", "populate_recordset")
)


def sqlite_calls(functions: Functions) -> dict[str, ir.Expr]:
    """Return the rules ``scalar``, ``aggregate`` and ``ranking`` for these functions."""
    scalars = [
        seq(words(names), _OPEN, arguments(arity, "expr"), sign(")"))
        for arity, names in functions.of("scalar").items()
    ]
    if functions.unlisted:
        scalars.append(seq(words(functions.unlisted), _OPEN, ir.Repeat(ref("exprs"), 0, 1), sign(")")))
    aggregates = []
    for arity, names in functions.of("aggregate").items():
        aggregates.append(seq(_named(names, begin_aggregate, may_aggregate), _OPEN, _sqlite_aggregate(arity)))
    rankings = []
    for arity, names in functions.of("window").items():
        rankings.append(
            seq(
                _named(names, begin_ranking, may_window),
                _OPEN,
                arguments(arity, "expr"),
                ir.RuleRef("RANKING_CLOSE"),
                SKIP,
                ref("over"),
            )
        )
    return {
        "scalar": ir.Choice(tuple(scalars)),
        "aggregate": ir.Choice(tuple(aggregates)),
        "ranking": ir.Choice(tuple(rankings)),
    }


def _sqlite_aggregate(arity: Arity) -> ir.Expr:
    close = seq(ir.RuleRef("AGGREGATE_CLOSE"), SKIP)
    filtered = ir.Repeat(ref("filter"), 0, 1)
    over = ir.Repeat(ref("over"), 0, 1)
    ways = [seq(arguments(arity, "expr") if arity.counts != (0,) else ir.EPSILON, close, filtered, over)]
    if 0 in arity.counts:
        ways.append(seq(sign("*"), close, filtered, over))
    if 1 in arity.counts:  # DISTINCT takes one argument, and no window
        ways.append(seq(ref("sqlite.DISTINCT"), SKIP, ref("expr"), close, filtered))
    return ir.Choice(tuple(ways))


def postgres_calls(functions: Functions) -> dict[str, ir.Expr]:
    """Return the rules ``scalar``, ``aggregate``, ``window_call``, ``table_call`` and ``named_type`` for
    these functions.
    """
    scalars, sets, tables = [], [], []
    for arity, names in functions.of("scalar").items():
        plain = tuple(name for name in names if name not in SETS and name not in RECORDS)
        if plain:
            scalars.append(seq(words(plain), _OPEN, arguments(arity, "expr"), sign(")")))
        single = tuple(name for name in names if len(SETS.get(name, ("", ""))) < 2)
        if single:
            sets.append(seq(words(single), _OPEN, arguments(arity, "expr"), sign(")")))
        for columns in ((), ("value",), ("key", "value")):
            some = tuple(name for name in names if SETS.get(name) == columns)
            if some:
                named = _named(some, _begin_table_call(columns), may_call)
                tables.append(seq(named, _OPEN, arguments(arity, "expr"), ref("TABLE_CALL_CLOSE"), SKIP))
    if functions.unlisted:
        scalars.append(seq(words(functions.unlisted), _OPEN, ir.Repeat(ref("exprs"), 0, 1), sign(")")))
    aggregates, windows = [], []
    for arity, names in functions.of("aggregate").items():
        aggregates.append(seq(_named(names, begin_named_aggregate, may_aggregate), _OPEN, _aggregate(arity)))
        windows.append(seq(_window_name(names), _plain_arguments(arity)))
    for arity, names in functions.of("ordered_set").items():
        aggregates.append(
            seq(_named(names, begin_named_aggregate, may_aggregate), _OPEN, _ordered_set(arity))
        )
    for arity, names in functions.of("window").items():
        windows.append(seq(_window_name(names), arguments(arity, "expr")))
    close = seq(sign(")"), ref("OVER"), SKIP, ref("window_body"))
    rules: dict[str, ir.Expr] = {
        "scalar": ir.Choice(tuple(scalars)),
        "aggregate": ir.Choice(tuple(aggregates)),
        "window_call": seq(ir.Choice(tuple(windows)), close) if windows else ir.NOTHING,
        "table_call": ir.Choice(tuple(tables)),
        "set_call": ir.Choice(tuple(sets)),
    }
    if functions.types:
        rules["named_type"] = words(functions.types)
    return rules


def _window_name(names: Names) -> ir.Expr:
    return seq(_named(names, begin_window_call, may_window), _OPEN)


def _plain_arguments(arity: Arity) -> ir.Expr:
    ways = [_listed(arity)]
    if 0 in arity.counts:
        ways.append(sign("*"))
    return ir.Choice(tuple(ways))


def _listed(arity: Arity) -> ir.Expr:
    """Return the arguments of a listed function; a call without arguments is written with a star."""
    return arguments(Arity(tuple(n for n in arity.counts if n), arity.open), "expr")


def _aggregate(arity: Arity) -> ir.Expr:
    ways = [
        seq(_listed(arity), ir.Repeat(ref("sorting"), 0, 1)),
        seq(ref("postgres.DISTINCT"), SKIP, _listed(arity)),
    ]
    if 0 in arity.counts:
        ways.append(sign("*"))
    return seq(ir.Capture(ir.Choice(tuple(ways)), end_aggregate), sign(")"), ir.Repeat(ref("filter"), 0, 1))


def _ordered_set(arity: Arity) -> ir.Expr:
    direct = ir.EPSILON if arity.counts == (0,) else seq(ref("postgres.NUMBER"), SKIP)
    within = [part for word in ("WITHIN", "postgres.GROUP") for part in (ref(word), SKIP)]
    sorting = [part for word in ("SORTING", "postgres.BY") for part in (ref(word), SKIP)]
    body = seq(direct, sign(")"), *within, _OPEN, *sorting, ref("expr"), ref("direction"), sign(")"))
    return seq(ir.Capture(body, end_aggregate), ir.Repeat(ref("filter"), 0, 1))


def _named(names: Names, action: Action, test: Callable[[Query], bool]) -> ir.Expr:
    return seq(ir.Capture(ir.Dynamic(_resolver(names, test)), action), WORD_END, SKIP)


@lru_cache(maxsize=1024)
def _resolver(names: Names, test: Callable[[Query], bool]) -> Callable[[Any], ir.Expr]:
    listed = ir.Choice(tuple(caseless(name) for name in names))
    return ir.follows_restrictions(ir.depends_on(test)(lambda fits: listed if fits else ir.NOTHING))


@lru_cache(maxsize=8)
def _begin_table_call(columns: Names) -> Action:
    return ir.never_forbids(begin_table_call(columns))
