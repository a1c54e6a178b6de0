"""Pass 6: write out rules that match the empty string only, so that every rule has a string to consume."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stackmask.grammar.ir import (
    Choice,
    Expr,
    Keyed,
    KeyTest,
    Literal,
    NotFollowedBy,
    Repeat,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    Slot,
    children,
)
from stackmask.grammar.ir.build import is_nothing, rewrite, with_bodies
from stackmask.grammar.normalize.graph import solve
from stackmask.grammar.normalize.memo import facts, remembered
from stackmask.grammar.normalize.nullable import ends_expression, rule_ends
from stackmask.grammar.normalize.productive import remove_unreachable


def write_out_empty_rules(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet with references to rules that never consume anything replaced by what they ask for.

    Invariant: of every rule left (but the start), the language without ε is not empty, so references with
        ``nonempty`` can be made to any of them.
    """
    consumes = solve(ruleset, False, _consumes)
    if all(consumes.values()):
        return ruleset
    ends = rule_ends(ruleset)

    def leaf(expr: Expr) -> Expr:
        if isinstance(expr, RuleRef) and not consumes[expr.name]:
            return ends_expression(ends[expr.name])
        return expr

    bodies = {}
    for name, rule in ruleset.rules.items():
        empty = tuple([(other, ends[other]) for other in facts(rule.body).names if not consumes[other]])
        written = partial(rewrite, rule.body, leaf)
        bodies[name] = remembered(write_out_empty_rules, rule.body, empty, written) if empty else rule.body
    return remove_unreachable(with_bodies(ruleset, bodies))


def _consumes(expr: Expr, consumes: Mapping[str, bool]) -> bool:
    """Return whether the (productive) expression has a string that is not empty."""
    match expr:
        case Literal(data):
            return bool(data)
        case NotFollowedBy() | Slot() | KeyTest():
            return False
        case RuleRef(name):
            return consumes[name]
        case Sequence(items) | Choice(items):
            return any(_consumes(item, consumes) for item in items)
        case Repeat(item, _, high):
            return high != 0 and _consumes(item, consumes)
        case Scope() | Keyed():
            return any(_consumes(item, consumes) for item in children(expr))
        case _:
            return not is_nothing(expr)
