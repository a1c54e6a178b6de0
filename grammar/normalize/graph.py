"""The reference graph of the rules: components, reachability, and fixpoints over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from stackmask.grammar.ir import Expr, RuleRef, RuleSet, walk
from stackmask.grammar.ir.build import components
from stackmask.grammar.normalize.memo import facts, remembered
from stackmask.grammar.source.work import spend

__all__ = ["components", "cycle_through", "reachable", "reference_graph", "references", "solve"]

Value = TypeVar("Value")


def references(expr: Expr) -> list[RuleRef]:
    """Return the references to rules inside an expression, in the order of the text."""
    return [e for e in walk(expr) if isinstance(e, RuleRef)]


def reference_graph(ruleset: RuleSet) -> dict[str, tuple[str, ...]]:
    """Return for each rule the names of the rules that it refers to, each once."""
    return {name: facts(rule.body).names for name, rule in ruleset.rules.items()}


def reachable(start: Iterable[str], graph: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the names that can be reached from some others, those included."""
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
    """Return a shortest cycle ``[name, …, name]``; empty if there is none."""
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
    *,
    remember: bool = True,
) -> dict[str, Value]:
    """Return the least fixpoint of ``values[name] = evaluate(body of name, values)``.

    ``evaluate`` must be monotone from ``bottom`` over a lattice without long chains. ``remember``: it depends on its
    arguments alone, and is the same function each time.
    Cost: one evaluation for a rule outside cycles, a few for those in one; what was evaluated before is looked up.
    """
    graph = reference_graph(ruleset)
    values = dict.fromkeys(ruleset.rules, bottom)
    for component in components(graph):
        changed = True
        while changed:
            changed = False
            for name in reversed(component):
                body = ruleset.rules[name].body
                names = graph[name]
                spend(1 + len(names))
                if remember:
                    known = tuple([values[other] for other in names])
                    value = remembered(evaluate, body, known, partial(evaluate, body, values))
                else:
                    spend(facts(body).size)
                    value = evaluate(body, values)
                if value != values[name]:
                    values[name] = value
                    changed = True
            if len(component) == 1 and component[0] not in graph[component[0]]:
                break
    return values
