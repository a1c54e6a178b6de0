"""Features that no finite automaton supports, which are refused by name before any work."""

from __future__ import annotations

from stackmask.grammar import ir
from stackmask.grammar.ir import Expr, Rule, RuleSet
from stackmask.grammar.ir.build import rebuild
from stackmask.runtime.fsm.bounds import children_first
from stackmask.runtime.fsm.errors import FsmError


def check_features(rules: RuleSet) -> None:
    """Raise an error for rules whose language depends on unbounded memory of the text.

    Raises: FsmError with the rule, and all unsupported features.
    """
    for rule in rules.rules.values():
        found = list(dict.fromkeys(why for expr in ir.walk(rule.body) if (why := _obstacle(expr))))
        if found:
            raise FsmError(
                f"rule `{rule.name}` has {' and '.join(found)}, which no finite automaton does; "
                "use the pushdown engine"
            )


def forget_keys(rules: RuleSet) -> RuleSet:
    """Return the rules with undeclared keys of open objects untracked, so that they may repeat.

    All other properties of objects are unchanged: declared keys occur at most once, required keys must occur.
    Raises: FsmError if the keys of an open object are counted, since untracked keys cannot be.
    """
    bodies: dict[str, Rule] = {}
    for name, rule in rules.rules.items():
        if any(isinstance(expr, ir.Keyed) and _counts(expr.spec) for expr in ir.walk(rule.body)):
            raise FsmError(
                f"rule `{name}` counts the keys of an open object (minProperties or maxProperties), "
                "which cannot be done without remembering them; use the pushdown engine"
            )
        bodies[name] = Rule(name, _without_key_captures(rule.body), rule.span)
    return RuleSet(bodies, rules.start, rules.initial, rules.sources)


def _counts(spec: ir.KeySpec) -> bool:
    return spec.open and (spec.min_count > 0 or spec.max_count is not None)


def _without_key_captures(body: Expr) -> Expr:
    done: dict[int, Expr] = {}
    for expr in children_first(body):
        items = tuple(done[id(child)] for child in ir.children(expr))
        is_key = isinstance(expr, ir.Capture) and expr.action == "key"
        done[id(expr)] = items[0] if is_key else rebuild(expr, items)
    return done[id(body)]


def _obstacle(expr: Expr) -> str:
    match expr:
        case ir.Capture(_, "key"):
            return (
                "an open object, whose undeclared keys must differ (additionalProperties: false closes it, "
                "repeated_keys=True lets them repeat)"
            )
        case ir.Capture(_, "push" | "new" as action):
            return f"a capture (@{action})"
        case ir.Capture(_, ir.TokenLimit()):
            return "text whose tokens are counted (max_tokens)"
        case ir.Capture():
            return "a capture with an action of its own"
        case ir.Dynamic(str(resolver)):
            return f"text that repeats a capture (@{resolver})"
        case ir.Dynamic():
            return "a dynamic rule"
    return ""
