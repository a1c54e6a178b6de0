"""What no finite automaton does: refuse it by name, before any work."""

from __future__ import annotations

from stackmask.grammar import ir
from stackmask.grammar.ir import Expr, RuleSet
from stackmask.runtime.finite.errors import FsmError


def check_features(rules: RuleSet) -> None:
    """Refuse rules whose language depends on unbounded memory of the text.

    Raises: FsmError with the rule, and all that is in its way.
    """
    for rule in rules.rules.values():
        found = list(dict.fromkeys(why for expr in ir.walk(rule.body) if (why := _obstacle(expr))))
        if found:
            raise FsmError(
                f"rule `{rule.name}` has {' and '.join(found)}, which no finite automaton does; "
                "use the pushdown engine"
            )


def _obstacle(expr: Expr) -> str:
    match expr:
        case ir.Capture(_, "key"):
            return "an open object, whose undeclared keys must differ (additionalProperties: false closes it)"
        case ir.Capture(_, "push"):
            return "a capture (@push)"
        case ir.Capture():
            return "a capture with an action of its own"
        case ir.Dynamic("top"):
            return "text that repeats a capture (@top)"
        case ir.Dynamic():
            return "a dynamic rule"
    return ""
