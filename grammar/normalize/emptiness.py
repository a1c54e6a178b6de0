"""Pass 4: drop `&` and `!` expressions that match nothing, and with them the rules that need them.

Emptiness is decided by the automaton's own terms: from the expression, derivatives are followed breadth first
until one may end.
"""

from __future__ import annotations

from typing import Final

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    Complement,
    Expr,
    Intersection,
    RuleSet,
    children,
)
from stackmask.grammar.ir.build import rebuild, with_bodies
from stackmask.grammar.normalize.graph import facts
from stackmask.grammar.normalize.left_parts import nonempty_part
from stackmask.grammar.normalize.nullable import ends_of
from stackmask.grammar.normalize.productive import remove_useless
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend
from stackmask.pda.errors import BudgetError
from stackmask.pda.lowering.questions import is_empty

_BOOLEANS: Final = frozenset({Intersection, Complement})


def drop_empty_booleans(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet without `&` and `!` that match nothing, or no more than ε.

    Raises: GrammarError (G102, G103 for rules that then derive nothing; G117 where the search is too long).
    Cost: few derivatives where something matches; up to ``Limits.max_explored`` of them where nothing does.
    """
    if all(facts(rule.body).kinds.isdisjoint(_BOOLEANS) for rule in ruleset.rules.values()):
        return ruleset
    verdicts: dict[Expr, Expr] = {}
    problems: list[Diagnostic] = []

    def prune(expr: Expr) -> Expr:
        if isinstance(expr, Intersection | Complement):
            if expr not in verdicts:
                verdicts[expr] = expr
                try:
                    verdicts[expr] = _simplest(expr)
                except BudgetError as error:
                    if error.limit != "max_explored":
                        raise
                    problems.append(
                        Diagnostic(
                            "G117",
                            f"cannot tell within {error.value:,} steps whether anything matches here",
                            expr.span,
                            help="make the operands of `&`, `-` or `!` smaller",
                        )
                    )
            return verdicts[expr]
        items = children(expr)
        return rebuild(expr, tuple(map(prune, items))) if items else expr

    bodies = {}
    for name, rule in ruleset.rules.items():
        known = facts(rule.body)
        spend(known.size)
        bodies[name] = rule.body if known.kinds.isdisjoint(_BOOLEANS) else prune(rule.body)
    if problems:
        raise GrammarError(problems, ruleset.sources)
    return remove_useless(with_bodies(ruleset, bodies), written=ruleset)


def _simplest(expr: Expr) -> Expr:
    """Return ∅ or ε where the expression is no more than that."""
    if is_empty(expr):  # mutant: empty-operands
        return NOTHING
    if ends_of(expr, {}) and is_empty(nonempty_part(expr, {})):
        return EPSILON
    return expr
