"""What bodies of rules are made of, and the reference graph: components, reachability, and fixpoints over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from stackmask.grammar.ir import Expr, RuleRef, RuleSet, walk
from stackmask.grammar.ir.build import components, survey
from stackmask.grammar.source.work import spend

__all__ = ["components", "cycle_through", "facts", "reachable", "reference_graph", "references", "solve"]

MAX_NODES: Final = 400_000  # of all bodies whose facts are remembered; then all are forgotten

Value = TypeVar("Value")


class Facts(NamedTuple):
    """What a body is made of. References, and nodes in ``size``, count once if they are one object.

    ``written``: the places for subexpressions, in which one object may stand often. ``text``: bytes of the literals,
    counted at each place. ``depth``: levels below the body. ``counts``: its repetitions make sense.
    """

    references: tuple[RuleRef, ...]
    names: tuple[str, ...]
    kinds: frozenset[type]
    size: int
    written: int
    text: int
    depth: int
    counts: bool


_facts: dict[int, tuple[Expr, Facts]] = {}  # by the identity of a body, which is kept
_held = [0]  # nodes


def facts(body: Expr) -> Facts:
    """Return what a body is made of. Cost: linear, once."""
    known = _facts.get(id(body))
    if known is not None:
        return known[1]
    found = Facts(*survey(body))
    _held[0] += found.written
    if _held[0] > MAX_NODES:
        _facts.clear()
        _held[0] = found.written
    _facts[id(body)] = (body, found)
    return found


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
) -> dict[str, Value]:
    """Return the least fixpoint of ``values[name] = evaluate(body of name, values)``.

    ``evaluate`` must be monotone from ``bottom`` over a lattice without long chains.
    Cost: one evaluation for a rule outside cycles, a few for those in one.
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
