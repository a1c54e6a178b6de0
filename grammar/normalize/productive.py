"""Pass 2: refuse rules that derive no string, and drop what cannot be reached."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    Capture,
    Choice,
    Complement,
    Expr,
    Intersection,
    Keyed,
    Literal,
    Repeat,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    children,
)
from stackmask.grammar.ir.build import is_nothing, rebuild, repeat, with_bodies
from stackmask.grammar.normalize.graph import reachable, reference_graph, references, solve
from stackmask.grammar.normalize.memo import remembered
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError


def remove_useless(ruleset: RuleSet) -> RuleSet:
    """Return the rules that the start reaches, without alternatives that derive nothing.

    Raises: GrammarError (G102 for each rule that derives nothing, reachable or not; G103).
    Cost: linear for rules outside cycles.
    """
    productive = solve(ruleset, False, _is_productive)
    problems = [
        Diagnostic(
            "G102",
            f"rule `{name}` cannot derive any string",
            rule.span,
            _reason(name, rule.body, productive),
            "add an alternative that ends" if references(rule.body) else "",
        )
        for name, rule in ruleset.rules.items()
        if not productive[name]
    ]
    if not productive[ruleset.start]:
        problems.append(
            Diagnostic(
                "G103",
                f"the language is empty: no text matches the start rule `{ruleset.start}`",
                ruleset.rules[ruleset.start].span,
            )
        )
    if problems:
        raise GrammarError(problems, ruleset.sources)
    bodies = {
        name: remembered(_drop_nothing, rule.body, (), partial(_drop_nothing, rule.body))
        for name, rule in ruleset.rules.items()
    }
    return remove_unreachable(with_bodies(ruleset, bodies))


def remove_unreachable(ruleset: RuleSet) -> RuleSet:
    """Return the rules that the start reaches."""
    seen = reachable([ruleset.start], reference_graph(ruleset))
    return with_bodies(ruleset, {name: rule.body for name, rule in ruleset.rules.items() if name in seen})


def _is_productive(expr: Expr, productive: Mapping[str, bool]) -> bool:
    known: dict[int, bool] = {}

    def visit(expr: Expr) -> bool:
        found = known.get(id(expr))
        if found is None:
            found = known[id(expr)] = evaluate(expr)
        return found

    def evaluate(expr: Expr) -> bool:
        match expr:
            case RuleRef(name):
                return productive[name]
            case Choice(items):
                return any(map(visit, items))
            case Repeat(item, low):
                return low == 0 or visit(item)
            case Complement():
                return True
            case Sequence(items) | Intersection(items):
                return all(map(visit, items))
            case Capture(item) | Scope(item) | Keyed(item):
                return visit(item)
            case _:
                return not is_nothing(expr)

    return visit(expr)


def _drop_nothing(expr: Expr) -> Expr:
    known: dict[int, Expr] = {}

    def visit(expr: Expr) -> Expr:
        found = known.get(id(expr))
        if found is None:
            found = known[id(expr)] = drop(expr)
        return found

    def drop(expr: Expr) -> Expr:
        match expr:
            case Literal() | RuleRef():
                return expr
            case Repeat(_, _, 0):
                return EPSILON
            case Complement() | Intersection():
                return expr
        if is_nothing(expr):
            return NOTHING
        if isinstance(expr, Repeat):
            return repeat(visit(expr.item), expr.min, expr.max, expr.span)
        items = children(expr)
        return rebuild(expr, tuple([visit(item) for item in items])) if items else expr

    return visit(expr)


def _reason(name: str, body: Expr, productive: Mapping[str, bool]) -> str:
    """Say what every way through an unproductive rule needs."""
    missing: dict[str, None] = {}
    todo = [body]
    while todo:
        expr = todo.pop()
        match expr:
            case RuleRef(target) if not productive[target]:
                missing[target] = None
            case Repeat(_, 0) | Complement():
                pass
            case _:
                todo += reversed(children(expr))
    if not missing:
        return "every alternative is empty"
    if name in missing and len(missing) == 1:
        return f"every alternative of `{name}` needs `{name}`"
    names = ", ".join(f"`{target}`" for target in list(missing)[:3]) + (", …" if len(missing) > 3 else "")
    return (
        f"every alternative of `{name}` needs {names}, which never {'ends' if len(missing) == 1 else 'end'}"
    )
