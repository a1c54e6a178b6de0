"""Pass 11: expand small regular rules where they are used, so that they need no call."""

from __future__ import annotations

from collections.abc import Mapping

from stackmask.grammar.ir import (
    Capture,
    Choice,
    Dynamic,
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
from stackmask.grammar.normalize.graph import (
    Facts,
    components,
    facts,
    reference_graph,
    remove_unreachable,
    solve,
)
from stackmask.grammar.normalize.nullable import ends_expression, nonempty_part, rule_ends
from stackmask.grammar.source.work import spend

SMALL = 8  # nodes: a class, a literal, a keyword in either case
SMALL_WRITTEN = 100  # places for nodes: one node may stand at many
MAX_NULLABLE = 200  # nodes of a rule such as skipped text, whose call would end where it began
GROWTH = 2  # the whole may become so many times as large ...
FREE_GROWTH = 20_000  # ... or grow by so many nodes
FREE_TEXT = 1_000_000  # bytes of literals that may be written beside those that are there
_STAY = frozenset({RuleRef, Capture, Scope, Dynamic, Keyed})  # rules that hold one of these stay rules


def inline_rules(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet with small rules without calls expanded, and plain aliases resolved.

    Rules that capture or depend on captured text stay rules.
    Cost: linear in the result, which the budget bounds.
    """
    graph = reference_graph(ruleset)
    ends = rule_ends(ruleset)
    uses: dict[str, int] = {}
    total = 0
    text = 0
    for rule in ruleset.rules.values():
        known = facts(rule.body)
        total += known.written
        text += known.text
        for ref in known.references:
            uses[ref.name] = uses.get(ref.name, 0) + 1
    budget = max(GROWTH * total, total + FREE_GROWTH) - total
    text_budget = max((GROWTH - 1) * text, FREE_TEXT)
    bodies: dict[str, Expr] = {}
    inlined: dict[str, Expr] = {}

    for component in components(graph):
        for name in component:
            bodies[name] = body = _substituted(ruleset.rules[name].body, inlined, ends)
            if isinstance(body, RuleRef):
                if body.name != name:
                    inlined[name] = body
                continue
            made = facts(body)
            if _is_small(made, bool(ends[name])):
                count = uses.get(name, 0)
                growth = (made.written - 1) * count
                text = made.text * count
                if growth <= budget and text <= text_budget:
                    budget -= growth
                    text_budget -= text
                    inlined[name] = body
    # rules of a cycle were written before some aliases in it were known
    bodies = {name: _substituted(body, inlined, ends) for name, body in bodies.items()}
    return remove_unreachable(with_bodies(ruleset, bodies))


def _is_small(body: Facts, nullable: bool) -> bool:
    if nullable:
        return body.written <= MAX_NULLABLE and body.kinds.isdisjoint(_STAY)
    return body.size <= SMALL and body.written <= SMALL_WRITTEN and body.kinds.isdisjoint(_STAY)


def _substituted(body: Expr, inlined: Mapping[str, Expr], ends: Mapping[str, frozenset[int]]) -> Expr:
    known = facts(body)
    if inlined.keys().isdisjoint(known.names):
        return body
    spend(2 * known.size)

    def leaf(expr: Expr) -> Expr:
        while isinstance(expr, RuleRef) and expr.name in inlined:
            found = inlined[expr.name]
            if isinstance(found, RuleRef):
                expr = RuleRef(found.name, expr.nonempty or found.nonempty, expr.span)
            else:
                return nonempty_part(found, ends) if expr.nonempty else found
        return expr

    return rewrite(body, leaf)


# --------------------------------------------------------------------------------------------------------
# Pass 6: write out rules that match the empty string only, so that every rule has a string to consume
# --------------------------------------------------------------------------------------------------------


def write_out_empty_rules(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet in which the conditions of rules without text replace the references to these rules.

    Invariant: every remaining rule (except the start) has a non-empty string, so references with ``nonempty``
        are valid for all of them.
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
        spend(facts(rule.body).size)
        keeps = all(consumes[other] for other in facts(rule.body).names)
        bodies[name] = rule.body if keeps else rewrite(rule.body, leaf)
    return remove_unreachable(with_bodies(ruleset, bodies))


def _consumes(expr: Expr, consumes: Mapping[str, bool]) -> bool:
    """Return whether the (productive) expression has a non-empty string."""
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
