"""`@push`, `@new`, `@top`, `@level` and `@deeper` as callables, which the oracle knows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache

from stackmask.grammar.ir import (
    Capture,
    CharClass,
    Choice,
    Dynamic,
    Expr,
    Literal,
    Repeat,
    Rule,
    RuleSet,
    Sequence,
    children,
)
from stackmask.grammar.ir.build import rebuild

BLANK = CharClass(((9, 9), (32, 32)))


@cache
def width(text: bytes) -> tuple[int, int]:
    column = count = 0
    for byte in text:
        column, count = {32: (column + 1, count + 1), 9: ((column // 8 + 1) * 8, count + 1)}.get(byte, (0, 0))
    return column, count


@cache
def reaching(wanted: tuple[int, int], at: tuple[int, int], deeper: bool) -> Expr:
    """Return the blanks after which the width is as wanted, or larger in both ways."""
    if deeper and at[0] > wanted[0]:
        return Repeat(BLANK, max(wanted[1] + 1 - at[1], 0), None)
    if not deeper and (at[0] >= wanted[0] or at[1] >= wanted[1]):
        return Literal(b"") if at == wanted else Choice(())
    steps = ((b" ", at[0] + 1), (b"\t", (at[0] // 8 + 1) * 8))
    ways = [Sequence((Literal(text), reaching(wanted, (to, at[1] + 1), deeper))) for text, to in steps]
    return Choice(tuple(ways))


def called(rules: RuleSet) -> RuleSet:
    """Return the rules with callables, whose value is a stack of texts, each with what put it there."""

    def stack(value: Hashable) -> tuple[tuple[str, bytes], ...]:
        assert isinstance(value, tuple)
        return value

    def push(value: Hashable, text: bytes) -> Hashable:
        return (*stack(value), ("push", text))

    def new(value: Hashable, text: bytes) -> Hashable | None:
        since = [index for index, (what, _) in enumerate(stack(value)) if what == "push"]
        taken = [each for _, each in stack(value)[(since or [-1])[-1] + 1 :]]
        return None if text in taken else (*stack(value), ("new", text))

    def answer(is_deeper: bool) -> Callable[[Hashable], Expr]:
        return lambda value: reaching(width(stack(value)[-1][1]), (0, 0), is_deeper)

    actions = {"push": push, "new": new}
    resolvers: dict[str, Callable[[Hashable], Expr]] = {
        "top": lambda value: Literal(stack(value)[-1][1]),
        "level": answer(False),
        "deeper": answer(True),
    }

    def changed(expr: Expr) -> Expr:
        items = tuple(changed(child) for child in children(expr))
        if isinstance(expr, Capture):
            return Capture(items[0], actions[str(expr.action)])
        if isinstance(expr, Dynamic):
            return Dynamic(resolvers[str(expr.resolver)])
        return rebuild(expr, items) if items else expr

    bodies = {name: Rule(name, changed(rule.body)) for name, rule in rules.rules.items()}
    assert isinstance(rules.initial, tuple)
    return RuleSet(bodies, rules.start, tuple(("push", text) for text in rules.initial))
