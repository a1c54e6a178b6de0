"""Constructors that keep expressions small: no nested sequences, no ε in them, no ∅ among alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stackmask.grammar.ir import (
    EPSILON,
    NOTHING,
    ByteClass,
    Capture,
    CharClass,
    Choice,
    Complement,
    Expr,
    Intersection,
    Keyed,
    Repeat,
    Rule,
    RuleSet,
    Scope,
    Sequence,
    Span,
    TokenTerminal,
    children,
)

MAX_COUNT = 1_000_000_000  # what the front ends allow in a repetition


def is_nothing(expr: Expr) -> bool:
    """Tell whether the expression is plainly the empty language (``&`` is not looked into)."""
    match expr:
        case Choice(()) | ByteClass(0) | CharClass(()):
            return True
        case TokenTerminal((), (), False):
            return True
        case _:
            return False


def sequence(items: Iterable[Expr], span: Span | None = None) -> Expr:
    """Return one item after the other."""
    flat: list[Expr] = []
    for item in items:
        if is_nothing(item):
            return NOTHING
        if isinstance(item, Sequence):
            flat.extend(item.items)
        elif item != EPSILON:
            flat.append(item)
    if not flat:
        return EPSILON
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat), span)


def choice(items: Iterable[Expr], span: Span | None = None) -> Expr:
    """Return any of the items, equal ones once."""
    flat: dict[Expr, None] = {}
    for item in items:
        if isinstance(item, Choice):
            flat.update(dict.fromkeys(item.items))
        elif not is_nothing(item):
            flat[item] = None
    return next(iter(flat)) if len(flat) == 1 else Choice(tuple(flat), span)


def repeat(item: Expr, low: int, high: int | None, span: Span | None = None) -> Expr:
    """Return low to high times the item; a repetition of a repetition becomes one where it leaves no gaps."""
    if high == 0 or item == EPSILON or (is_nothing(item) and low == 0):
        return EPSILON
    if is_nothing(item):
        return NOTHING
    if low == high == 1:
        return item
    if isinstance(item, Repeat):
        # rounds j = low..high give counts [j·m, j·n]; these meet if those of the first two do
        m, n = item.min, item.max
        first = max(low, 1)
        meets = n is None or low == high or (first + 1) * m <= first * n + 1  # mutant: repeat-gap
        most = None if n is None or high is None else n * high
        if meets and (low > 0 or m <= 1) and max(m * low, most or 0) <= MAX_COUNT:
            return Repeat(item.item, m * low, most, span)
    return Repeat(item, low, high, span)


def rebuild(expr: Expr, items: tuple[Expr, ...]) -> Expr:
    """Return the expression with other subexpressions; the same object where they are the same."""
    if all(a is b for a, b in zip(children(expr), items, strict=True)):
        return expr
    match expr:
        case Sequence(span=span):
            return sequence(items, span)
        case Choice(span=span):
            return choice(items, span)
        case Repeat(_, low, high, span):
            return repeat(items[0], low, high, span)
        case Intersection(span=span):
            return Intersection(items, span)
        case Complement(span=span):
            return Complement(items[0], span)
        case Capture(_, action, span):
            return NOTHING if is_nothing(items[0]) else Capture(items[0], action, span)
        case Scope(span=span):
            return NOTHING if is_nothing(items[0]) else Scope(items[0], span)
        case Keyed(_, spec, span):
            return NOTHING if is_nothing(items[0]) else Keyed(items[0], spec, span)
        case _:
            return expr


def rewrite(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """Return the expression with ``leaf`` applied to everything that has no subexpressions.

    What occurs several times as the same object is rewritten once, and stays one object.
    Cost: linear; recursion as deep as the expression, which ``check_wellformed`` limits.
    """
    known: dict[int, Expr] = {}

    def visit(expr: Expr) -> Expr:
        items = children(expr)
        if not items:
            return leaf(expr)
        found = known.get(id(expr))
        if found is None:
            found = known[id(expr)] = rebuild(expr, tuple([visit(item) for item in items]))
        return found

    return visit(expr)


def with_bodies(ruleset: RuleSet, bodies: Mapping[str, Expr]) -> RuleSet:
    """Return the RuleSet with these bodies (of old and of new rules) and no other rules."""
    rules = {}
    for name, body in bodies.items():
        old = ruleset.rules.get(name)
        rules[name] = Rule(name, body, old.span) if old is not None else Rule(name, body)
    return RuleSet(rules, ruleset.start, ruleset.initial, ruleset.sources)
