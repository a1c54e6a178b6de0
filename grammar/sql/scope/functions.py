"""Rules for calls: scalar functions anywhere, aggregates and functions with windows where they may stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    Capture,
    Choice,
    Dynamic,
    Expr,
    Repeat,
    RuleRef,
    depends_on,
    follows_restrictions,
    never_forbids,
)
from stackmask.grammar.sql.calls.calls import (
    SKIP,
    WORD_END,
    Arity,
    Functions,
    arguments,
    caseless,
    ref,
    seq,
    sign,
    words,
)
from stackmask.grammar.sql.scope.actions import (
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
from stackmask.grammar.sql.scope.lookup import may_call
from stackmask.grammar.sql.scope.state import Query

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


def sqlite_calls(functions: Functions) -> dict[str, Expr]:
    """Return what ``scalar``, ``aggregate`` and ``ranking`` mean if these functions may be called."""
    scalars = [
        seq(words(names), _OPEN, arguments(arity, "expr"), sign(")"))
        for arity, names in functions.of("scalar").items()
    ]
    if functions.unlisted:
        scalars.append(seq(words(functions.unlisted), _OPEN, Repeat(ref("exprs"), 0, 1), sign(")")))
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
                RuleRef("RANKING_CLOSE"),
                SKIP,
                ref("over"),
            )
        )
    return {
        "scalar": Choice(tuple(scalars)),
        "aggregate": Choice(tuple(aggregates)),
        "ranking": Choice(tuple(rankings)),
    }


def _sqlite_aggregate(arity: Arity) -> Expr:
    close = seq(RuleRef("AGGREGATE_CLOSE"), SKIP)
    filtered = Repeat(ref("filter"), 0, 1)
    over = Repeat(ref("over"), 0, 1)
    ways = [seq(arguments(arity, "expr") if arity.counts != (0,) else EPSILON, close, filtered, over)]
    if 0 in arity.counts:
        ways.append(seq(sign("*"), close, filtered, over))
    if 1 in arity.counts:  # DISTINCT takes one argument, and no window
        ways.append(seq(ref("sqlite.DISTINCT"), SKIP, ref("expr"), close, filtered))
    return Choice(tuple(ways))


def postgres_calls(functions: Functions) -> dict[str, Expr]:
    """Return what ``scalar``, ``aggregate``, ``window_call``, ``table_call`` and ``named_type`` mean with these functions."""
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
        scalars.append(seq(words(functions.unlisted), _OPEN, Repeat(ref("exprs"), 0, 1), sign(")")))
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
    rules: dict[str, Expr] = {
        "scalar": Choice(tuple(scalars)),
        "aggregate": Choice(tuple(aggregates)),
        "window_call": seq(Choice(tuple(windows)), close) if windows else NOTHING,
        "table_call": Choice(tuple(tables)),
        "set_call": Choice(tuple(sets)),
    }
    if functions.types:
        rules["named_type"] = words(functions.types)
    return rules


def _window_name(names: Names) -> Expr:
    return seq(_named(names, begin_window_call, may_window), _OPEN)


def _plain_arguments(arity: Arity) -> Expr:
    ways = [_listed(arity)]
    if 0 in arity.counts:
        ways.append(sign("*"))
    return Choice(tuple(ways))


def _listed(arity: Arity) -> Expr:
    """Return the arguments in the list; a call without any is written with a star."""
    return arguments(Arity(tuple(n for n in arity.counts if n), arity.open), "expr")


def _aggregate(arity: Arity) -> Expr:
    ways = [
        seq(_listed(arity), Repeat(ref("sorting"), 0, 1)),
        seq(ref("postgres.DISTINCT"), SKIP, _listed(arity)),
    ]
    if 0 in arity.counts:
        ways.append(sign("*"))
    return seq(Capture(Choice(tuple(ways)), end_aggregate), sign(")"), Repeat(ref("filter"), 0, 1))


def _ordered_set(arity: Arity) -> Expr:
    direct = EPSILON if arity.counts == (0,) else seq(ref("postgres.NUMBER"), SKIP)
    within = [part for word in ("WITHIN", "postgres.GROUP") for part in (ref(word), SKIP)]
    sorting = [part for word in ("SORTING", "postgres.BY") for part in (ref(word), SKIP)]
    body = seq(direct, sign(")"), *within, _OPEN, *sorting, ref("expr"), ref("direction"), sign(")"))
    return seq(Capture(body, end_aggregate), Repeat(ref("filter"), 0, 1))


def _named(names: Names, action: Action, test: Callable[[Query], bool]) -> Expr:
    return seq(Capture(Dynamic(_resolver(names, test)), action), WORD_END, SKIP)


@lru_cache(maxsize=1024)
def _resolver(names: Names, test: Callable[[Query], bool]) -> Callable[[Any], Expr]:
    listed = Choice(tuple(caseless(name) for name in names))
    return follows_restrictions(depends_on(test)(lambda fits: listed if fits else NOTHING))


@lru_cache(maxsize=8)
def _begin_table_call(columns: Names) -> Action:
    return never_forbids(begin_table_call(columns))
