"""The least that expressions can become: bytes, and on the way to them rules, choices and repetitions that may go on.

Conditions (``&``, ``!``, follow restrictions, keys, what resolvers answer) are left out, so a real text may be longer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.source.work import spend

BYTE: Final = (
    1 << 20
)  # a rule counts 1, so that of two ways of one length the one through fewer rules costs less
NEVER: Final = 1 << 60  # special tokens have no text


class Costs:
    """The least costs of the expressions of some rules, and of others made of these. Cost: linear in the rules, mostly."""

    def __init__(self, rules: Mapping[str, ir.Rule]) -> None:
        self._rules = dict.fromkeys(rules, NEVER)
        self._known: dict[int, int] = {}
        self._slots: dict[int, bool] = {}
        self._kept: list[ir.Expr] = []  # so that no other expression gets the place of one that is known
        users: defaultdict[str, set[str]] = defaultdict(set)
        for name, rule in rules.items():
            for part in ir.walk(rule.body):
                spend(1)
                if isinstance(part, ir.RuleRef):
                    users[part.name].add(name)
        waiting = dict.fromkeys(rules)
        while waiting:
            name = next(iter(waiting))
            del waiting[name]
            cost = self._cost(rules[name].body, {})
            if cost < self._rules[name]:
                self._rules[name] = cost
                waiting.update(dict.fromkeys(users[name]))
        for rule in rules.values():
            self._cost(rule.body, self._known)

    def copy(self) -> Costs:
        """Return costs that may learn of other expressions by themselves."""
        made = Costs.__new__(Costs)
        made._rules, made._known, made._kept = self._rules, dict(self._known), []
        made._slots = {}
        return made

    def of(self, expr: ir.Expr) -> int:
        """Return the least cost of an expression."""
        found = self._known.get(id(expr))
        if found is None:
            self._kept.append(expr)
            found = self._cost(expr, self._known)
        return found

    def has_slot(self, expr: ir.Expr) -> bool:
        """Return whether an expression takes declared keys, those of inner objects included."""
        found = self._slots.get(id(expr))
        if found is None:
            self._kept.append(expr)
            found = self._slots[id(expr)] = any(isinstance(part, ir.Slot) for part in ir.walk(expr))
        return found

    def _cost(self, root: ir.Expr, known: dict[int, int]) -> int:
        stack = [root]
        while stack:
            expr = stack[-1]
            if id(expr) in known:
                stack.pop()
                continue
            parts = _parts(expr)
            missing = [part for part in parts if id(part) not in known]
            if missing:
                stack.extend(missing)
                continue
            spend(1)
            known[id(expr)] = min(NEVER, self._joined(expr, [known[id(part)] for part in parts]))
            stack.pop()
        return known[id(root)]

    def _joined(self, expr: ir.Expr, costs: list[int]) -> int:
        match expr:
            case ir.Literal():
                return BYTE * len(expr.data)
            case ir.CharClass():
                first = expr.ranges[0][0] if expr.ranges else 0
                return BYTE * len(chr(first).encode()) if expr.ranges else NEVER
            case ir.ByteClass():
                return BYTE if expr.mask else NEVER
            case ir.Sequence():
                return sum(costs)
            case ir.Choice():
                return 1 + min(costs, default=NEVER)
            case ir.Repeat():
                return (expr.min * costs[0] if expr.min else 0) + (expr.min != expr.max)
            case ir.RuleRef():
                return 1 + self._rules[expr.name]
            case ir.TokenTerminal():
                return NEVER
            case ir.Dynamic():
                return BYTE
        return costs[0] if costs else 0


def source_of(expr: ir.Intersection) -> ir.Expr:
    """Return the operand of an intersection that its texts are drawn from; the others are conditions."""
    return next((item for item in expr.items if not isinstance(item, ir.Complement)), expr.items[0])


def _parts(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    if isinstance(expr, ir.Intersection):
        return (source_of(expr),)
    return () if isinstance(expr, ir.Complement) else ir.children(expr)
