"""Recursive rules: their detection, and their expansion to a given depth."""

from __future__ import annotations

from collections.abc import Iterator

from stackmask.grammar import ir
from stackmask.grammar.ir import Expr, Rule, RuleRef, RuleSet
from stackmask.grammar.ir.build import components, rewrite
from stackmask.grammar.normalize.graph import cycle_through, references
from stackmask.runtime.fsm.errors import FsmError

SEPARATOR = "@"  # between a rule's name and its level; no rule that was read has one in its name


def write_out(rules: RuleSet, depth: int | None) -> RuleSet:
    """Return rules without nested recursion.

    A tail call (`list ::= item | item "," list`) is a loop and is kept. Other recursion is expanded: on the
    way from the outermost call to an innermost one, cycles may be closed ``depth`` times. A single recursive
    rule may thus be nested inside itself ``depth`` times.

    Raises: FsmError if a rule nests and ``depth`` is None.
    """
    graph = {name: [ref.name for ref in references(rule.body)] for name, rule in rules.rules.items()}
    nesting = [part for part in components(graph) if _nests(part, graph, rules)]
    if not nesting:
        return rules
    if depth is None:
        name = next(name for name in _outside_in(rules.start, graph) if any(name in part for part in nesting))
        raise FsmError(
            f"rule `{name}` is recursive ({' → '.join(cycle_through(name, graph))}): no finite automaton means that; "
            "give depth=… to allow so many levels, or use the pushdown engine"
        )
    part_of = {name: frozenset(part) for part in nesting for name in part}
    closing = _closing_calls(rules.start, graph)
    made: dict[str, Rule] = {}
    todo = [(rules.start, 0)]
    while todo:
        name, level = todo.pop()
        written = _level_name(name, level, part_of)
        if written in made:
            continue
        rule = rules.rules[name]

        def call(leaf: Expr, name: str = name, level: int = level) -> Expr:
            if not isinstance(leaf, RuleRef):
                return leaf
            inside = name in part_of and leaf.name in part_of[name]
            below = level + ((name, leaf.name) in closing) if inside else 0
            if below > depth:
                return ir.NOTHING
            todo.append((leaf.name, below))
            return RuleRef(_level_name(leaf.name, below, part_of), leaf.nonempty, leaf.span)

        made[written] = Rule(written, rewrite(rule.body, call), rule.span)
    return RuleSet(made, _level_name(rules.start, 0, part_of), rules.initial, rules.sources)


def _level_name(name: str, level: int, part_of: dict[str, frozenset[str]]) -> str:
    return f"{name}{SEPARATOR}{level}" if name in part_of else name


def _nests(part: list[str], graph: dict[str, list[str]], rules: RuleSet) -> bool:
    """Return whether the rules of a component call each other otherwise than by tail calls."""
    members = set(part)
    return any(
        not at_end
        for name in part
        if members.intersection(graph[name])
        for ref, at_end in _calls(rules.rules[name].body)
        if ref.name in members
    )


def _calls(body: Expr) -> Iterator[tuple[RuleRef, bool]]:
    """Yield the calls of a body, each with whether it is a tail call."""
    stack = [(body, True)]
    seen: set[tuple[int, bool]] = set()
    while stack:
        expr, at_end = stack.pop()
        if (id(expr), at_end) in seen:
            continue
        seen.add((id(expr), at_end))
        if isinstance(expr, RuleRef):
            yield expr, at_end
        elif isinstance(expr, ir.Sequence):
            last = len(expr.items) - 1
            stack.extend((item, at_end and i == last) for i, item in enumerate(expr.items))
        else:
            same = isinstance(expr, ir.Choice) or (isinstance(expr, ir.Repeat) and expr.max == 1)
            stack.extend((child, at_end and same) for child in ir.children(expr))


def _outside_in(start: str, graph: dict[str, list[str]]) -> Iterator[str]:
    """Yield the rules breadth first."""
    seen = {start}
    queue = [start]
    for name in queue:
        yield name
        for target in graph[name]:
            if target not in seen:
                seen.add(target)
                queue.append(target)


def _closing_calls(start: str, graph: dict[str, list[str]]) -> set[tuple[str, str]]:
    """Return (rule, called rule) for each call that closes a cycle in a depth-first search from the start;
    every cycle has one.
    """
    closing: set[tuple[str, str]] = set()
    done: set[str] = set()
    open_names = {start}
    path = [(start, iter(graph[start]))]
    while path:
        name, targets = path[-1]
        for target in targets:
            if target in open_names:
                closing.add((name, target))
            elif target not in done:
                open_names.add(target)
                path.append((target, iter(graph[target])))
                break
        else:
            path.pop()
            open_names.discard(name)
            done.add(name)
    return closing
