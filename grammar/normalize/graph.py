"""Facts about bodies of rules, and the reference graph: components, reachability, and fixpoints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

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
from stackmask.grammar.ir.build import components, derives, survey, with_bodies, without_nothing
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import spend

__all__ = [
    "components",
    "cycle_through",
    "facts",
    "forget_facts",
    "reachable",
    "reference_graph",
    "references",
    "solve",
]

MAX_HELD: Final = (
    400_000  # by all bodies whose facts are remembered, about 100 bytes each; then all are forgotten
)
MAX_KEPT: Final = 20_000  # the same from one grammar to the next, whose bodies are mostly other objects

Value = TypeVar("Value")


class Facts(NamedTuple):
    """Facts about a body. References, and nodes in ``size``, count once if they are one object.

    ``written``: the number of places for subexpressions, where one object may occur often. ``text``: bytes of
    the literals, counted at each place. ``depth``: levels below the body. ``counts``: whether its repetitions
    are valid. ``held``: its size in memory: nodes, ranges of classes, and text in pieces of 128 bytes.
    """

    references: tuple[RuleRef, ...]
    names: tuple[str, ...]
    kinds: frozenset[type]
    size: int
    written: int
    text: int
    depth: int
    counts: bool
    held: int


_facts: dict[int, tuple[Expr, Facts]] = {}  # by the identity of a body, which is kept
_held = [0]


def facts(body: Expr) -> Facts:
    """Return the facts about a body. Cost: linear, once."""
    known = _facts.get(id(body))
    if known is not None:
        return known[1]
    found = Facts(*survey(body))
    _held[0] += found.held
    if _held[0] > MAX_HELD:
        _facts.clear()
        _held[0] = found.held
    _facts[id(body)] = (body, found)
    return found


def forget_facts() -> None:
    """Forget the facts about the bodies of a grammar after its last pass, if they need much memory."""
    if _held[0] > MAX_KEPT:
        _facts.clear()
        _held[0] = 0


def references(expr: Expr) -> list[RuleRef]:
    """Return the references to rules inside an expression, in the order of the text."""
    return [e for e in walk(expr) if isinstance(e, RuleRef)]


def reference_graph(ruleset: RuleSet) -> dict[str, tuple[str, ...]]:
    """Return for each rule the names of the rules to which it refers, without duplicates."""
    return {name: facts(rule.body).names for name, rule in ruleset.rules.items()}


def reachable(start: Iterable[str], graph: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the names reachable from the given ones, including these names."""
    seen = set(start)
    todo = list(seen)
    while todo:
        targets = graph[todo.pop()]
        spend(1)
        for name in targets:
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen


def cycle_through(name: str, graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a shortest cycle ``[name, …, name]``; empty if there is no cycle."""
    came_from: dict[str, str] = {}
    todo = [name]
    for here in todo:
        for target in graph[here]:
            if target == name:
                path = [name]
                while here != name:
                    path.append(here)
                    here = came_from[here]
                return [name, *path[:0:-1], name]
            if target not in came_from:
                came_from[target] = here
                todo.append(target)
    return []


def solve(
    ruleset: RuleSet,
    bottom: Value,
    evaluate: Callable[[Expr, Mapping[str, Value]], Value],
) -> dict[str, Value]:
    """Return the least fixpoint of ``values[name] = evaluate(body of name, values)``.

    ``evaluate`` must be monotone from ``bottom`` over a lattice without long chains.
    Cost: one evaluation for each rule outside cycles, a few for each rule in a cycle.
    """
    graph = reference_graph(ruleset)
    values = dict.fromkeys(ruleset.rules, bottom)
    for component in components(graph):
        changed = True
        while changed:
            changed = False
            for name in reversed(component):
                body = ruleset.rules[name].body
                spend(1 + len(graph[name]) + 2 * facts(body).size)
                value = evaluate(body, values)
                if value != values[name]:
                    values[name] = value
                    changed = True
            if len(component) == 1 and component[0] not in graph[component[0]]:
                break
    return values


# -- Pass 2: refuse rules that derive no string, and drop what cannot be reached. ------------------------

MAX_LOOKED_AT: Final = 1_000  # characters of an expression that is shown
# where `-` and `&` are characters
_LITERALS: Final = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\[(?:[^\]\\]|\\.)*\]|/(?:[^/\\]|\\.)*/"
)


def remove_useless(ruleset: RuleSet, written: RuleSet | None = None) -> RuleSet:
    """Return the rules reachable from the start, without alternatives that derive nothing.

    ``written``: the rules with the operators that were dropped because they match nothing, for diagnostics.

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
    """Return the rules reachable from the start."""
    seen = reachable([ruleset.start], reference_graph(ruleset))
    if len(seen) == len(ruleset.rules):
        return ruleset
    return with_bodies(ruleset, {name: rule.body for name, rule in ruleset.rules.items() if name in seen})


def _reason(name: str, body: Expr, productive: Mapping[str, bool]) -> str:
    """Explain what every derivation of an unproductive rule requires."""
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
