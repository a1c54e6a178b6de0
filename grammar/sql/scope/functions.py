"""Rules for calls: scalar functions anywhere, aggregates and window functions where they may stand."""

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
    follows_restrictions,
)
from stackmask.grammar.sql.calls.calls import SKIP, WORD_END, ref, seq, sign, words
from stackmask.grammar.sql.calls.calls import arguments as argument_list
from stackmask.grammar.sql.calls.functions import Arity, Functions
from stackmask.grammar.sql.scope.shared.actions import Action
from stackmask.grammar.sql.scope.shared.names import caseless
from stackmask.grammar.sql.scope.shared.state import Query
from stackmask.grammar.sql.scope.sqlite.clause_actions import (
    begin_aggregate,
    begin_ranking,
    may_aggregate,
    may_window,
)

Names = tuple[str, ...]
_OPEN: Final = sign("(")


def call_rules(functions: Functions) -> dict[str, Expr]:
    """Return what ``scalar``, ``aggregate`` and ``ranking`` mean if these functions may be called."""
    scalars = [
        seq(words(names), _OPEN, argument_list(arity, "expr"), sign(")"))
        for arity, names in functions.of("scalar").items()
    ]
    if functions.unlisted:
        scalars.append(seq(words(functions.unlisted), _OPEN, Repeat(ref("exprs"), 0, 1), sign(")")))
    aggregates = []
    for arity, names in functions.of("aggregate").items():
        aggregates.append(seq(_named(names, True), _OPEN, _aggregate(arity)))
    rankings = []
    for arity, names in functions.of("window").items():
        rankings.append(
            seq(
                _named(names, False),
                _OPEN,
                argument_list(arity, "expr"),
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


def _aggregate(arity: Arity) -> Expr:
    close = seq(RuleRef("AGGREGATE_CLOSE"), SKIP)
    filtered = Repeat(ref("filter"), 0, 1)
    over = Repeat(ref("over"), 0, 1)
    ways = [seq(argument_list(arity, "expr") if arity.counts != (0,) else EPSILON, close, filtered, over)]
    if 0 in arity.counts:
        ways.append(seq(sign("*"), close, filtered, over))
    if 1 in arity.counts:  # DISTINCT takes one argument, and no window
        ways.append(seq(ref("sqlite.DISTINCT"), SKIP, ref("expr"), close, filtered))
    return Choice(tuple(ways))


def _named(names: Names, aggregate: bool) -> Expr:
    resolver = _resolver(names, aggregate)
    action: Action = begin_aggregate if aggregate else begin_ranking
    return seq(Capture(Dynamic(resolver), action), WORD_END, SKIP)


@lru_cache(maxsize=1024)
def _resolver(names: Names, aggregate: bool) -> Callable[[Any], Expr]:
    listed = Choice(tuple(caseless(name) for name in names))
    test = may_aggregate if aggregate else may_window

    @follows_restrictions
    def resolve(query: Query) -> Expr:
        return listed if test(query) else NOTHING

    return resolve
