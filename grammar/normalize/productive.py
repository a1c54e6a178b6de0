"""Pass 2: refuse rules that derive no string, and drop what cannot be reached."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from stackmask.grammar.ir import (
    NOTHING,
    Complement,
    Expr,
    Intersection,
    Repeat,
    RuleRef,
    RuleSet,
    Span,
    children,
    walk,
)
from stackmask.grammar.ir.build import derives, with_bodies, without_nothing
from stackmask.grammar.normalize.graph import reachable, reference_graph, references, solve
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError

MAX_LOOKED_AT: Final = 1_000  # characters of an expression that is shown
# where `-` and `&` are characters
_LITERALS: Final = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\[(?:[^\]\\]|\\.)*\]|/(?:[^/\\]|\\.)*/"
)


def remove_useless(ruleset: RuleSet, written: RuleSet | None = None) -> RuleSet:
    """Return the rules that the start reaches, without alternatives that derive nothing.

    ``written``: the rules with the operators that were dropped for matching nothing, which a diagnostic then shows.

    Raises: GrammarError (G102 for each rule that derives nothing, reachable or not; G103).
    Cost: linear for rules outside cycles.
    """
    productive = solve(ruleset, False, derives)
    unproductive = [name for name in ruleset.rules if not productive[name]]
    problems = [_unproductive(name, ruleset, productive, written or ruleset) for name in unproductive]
    if not productive[ruleset.start]:
        problems.append(
            Diagnostic(
                "G103",
                f"the language is empty: no text matches the start rule `{ruleset.start}`",
                next(p.span for p, name in zip(problems, unproductive, strict=True) if name == ruleset.start),
            )
        )
    if problems:
        raise GrammarError(problems, ruleset.sources)
    bodies = {name: without_nothing(rule.body) for name, rule in ruleset.rules.items()}
    return remove_unreachable(with_bodies(ruleset, bodies))


def _unproductive(
    name: str, ruleset: RuleSet, productive: Mapping[str, bool], written: RuleSet
) -> Diagnostic:
    rule = ruleset.rules[name]
    message = f"rule `{name}` cannot derive any string"
    span = _empty_operator(written.rules[name].body) if name in written.rules else None
    if span is not None and span.source < len(ruleset.sources) and not references(rule.body):
        text = ruleset.sources[span.source].text[span.start : min(span.end, span.start + MAX_LOOKED_AT)]
        for sign, label in (("-", "`-` takes everything away"), ("&", "no text is in both operands")):
            if sign in _LITERALS.sub("", text):
                return Diagnostic("G102", message, span, label, f'for the character write `"{sign}"`')
    cure = "add an alternative that ends" if references(rule.body) else ""
    if not cure and ruleset.sources and ruleset.sources[0].name == "<regex>":
        cure = "no text meets its anchors, look-around and classes: leave one of them out"
    elif not cure and rule.body == NOTHING and rule.span is None:
        cure = "there is nothing to choose from: give at least one choice"
    return Diagnostic("G102", message, rule.span, _reason(name, rule.body, productive), cure)


def _empty_operator(body: Expr) -> Span | None:
    """Return the place of the first `&` or `-` of a rule."""
    return next((expr.span for expr in walk(body) if isinstance(expr, Intersection) and expr.span), None)


def remove_unreachable(ruleset: RuleSet) -> RuleSet:
    """Return the rules that the start reaches."""
    seen = reachable([ruleset.start], reference_graph(ruleset))
    if len(seen) == len(ruleset.rules):
        return ruleset
    return with_bodies(ruleset, {name: rule.body for name, rule in ruleset.rules.items() if name in seen})


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
