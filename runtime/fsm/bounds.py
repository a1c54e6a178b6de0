"""A lower bound on the states of an automaton, computed from the rules, so that grammars that are far too
large are refused early.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmask.grammar import ir
from stackmask.grammar.ir import Expr, RuleSet
from stackmask.grammar.ir.build import components
from stackmask.grammar.normalize.graph import references

UNBOUNDED = -1
_UNSURE = ir.Intersection | ir.Complement | ir.NotFollowedBy | ir.Slot | ir.KeyTest | ir.Keyed | ir.Dynamic


def states_at_least(rules: RuleSet) -> int:
    """Return a lower bound on the states of every deterministic automaton for these rules.

    An automaton of a finite language has more states than its longest string has bytes; any automaton has
    more than the shortest string. If `&`, `!` or restrictions may remove strings, the result is 1.
    Cost: linear in the rules.
    """
    if any(isinstance(expr, _UNSURE) for rule in rules.rules.values() for expr in ir.walk(rule.body)):
        return 1
    graph = {name: [ref.name for ref in references(rule.body)] for name, rule in rules.rules.items()}
    known: dict[str, tuple[int, int] | None] = {}
    for part in components(graph):
        name = part[0]
        if len(part) > 1 or name in graph[name]:
            # rules that loop: nothing is sure but that they have texts
            known |= dict.fromkeys(part, (0, UNBOUNDED))
        else:
            known[name] = _lengths(rules.rules[name].body, known)
    lengths = known[rules.start]
    if lengths is None:
        return 1
    shortest, longest = lengths
    return 1 + (shortest if longest == UNBOUNDED else longest)


def _lengths(body: Expr, known: Mapping[str, tuple[int, int] | None]) -> tuple[int, int] | None:
    """Return the lengths in bytes of the shortest and the longest string, or None if there is none."""
    done: dict[int, tuple[int, int] | None] = {}
    for expr in children_first(body):
        done[id(expr)] = _length(expr, known, done)
    return done[id(body)]


def children_first(body: Expr) -> list[Expr]:
    """Return the expression and all its subexpressions, children first, without duplicates."""
    order: list[Expr] = []
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(body, False)]
    while stack:
        expr, is_done = stack.pop()
        if is_done:
            order.append(expr)
        elif id(expr) not in seen:
            seen.add(id(expr))
            stack.append((expr, True))
            stack.extend((child, False) for child in ir.children(expr))
    return order


def _length(
    expr: Expr, known: Mapping[str, tuple[int, int] | None], done: Mapping[int, tuple[int, int] | None]
) -> tuple[int, int] | None:
    match expr:
        case ir.Literal(data):
            return len(data), len(data)
        case ir.CharClass(ranges):
            return (_width(ranges[0][0]), _width(ranges[-1][1])) if ranges else None
        case ir.ByteClass(mask):
            return (1, 1) if mask else None
        case ir.RuleRef(name, nonempty):
            lengths = known[name]
            # without the empty text the shortest one is longer, so nothing becomes untrue
            return None if nonempty and lengths == (0, 0) else lengths
        case ir.TokenTerminal():
            return 1, 1
        case ir.Sequence(items):
            parts = [done[id(item)] for item in items]
            if any(part is None for part in parts):
                return None
            sure = [part for part in parts if part is not None]
            longest = UNBOUNDED if any(b == UNBOUNDED for _, b in sure) else sum(b for _, b in sure)
            return sum(a for a, _ in sure), longest
        case ir.Choice(items):
            sure = [part for item in items if (part := done[id(item)]) is not None]
            if not sure:
                return None
            longest = UNBOUNDED if any(b == UNBOUNDED for _, b in sure) else max(b for _, b in sure)
            return min(a for a, _ in sure), longest
        case ir.Repeat(item, low, high):
            inner = done[id(item)]
            if inner is None or high == 0:
                return (0, 0) if low == 0 else None
            if inner == (0, 0):
                return 0, 0
            endless = high is None or inner[1] == UNBOUNDED
            return low * inner[0], UNBOUNDED if endless else (high or 0) * inner[1]
        case ir.Capture(item) | ir.Scope(item):
            return done[id(item)]
    raise AssertionError(f"{type(expr).__name__} was ruled out before")


def _width(code_point: int) -> int:
    """Return the number of bytes of a character in UTF-8."""
    return 1 + (code_point > 0x7F) + (code_point > 0x7FF) + (code_point > 0xFFFF)
