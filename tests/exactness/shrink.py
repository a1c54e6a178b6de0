"""Make a failing case small: drop rules, alternatives, elements and tokens while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from exactness.walks import Case
from stackmask.grammar.ir import (
    EPSILON,
    Choice,
    Expr,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Sequence,
    children,
    walk,
)


def smaller(expr: Expr) -> Iterator[Expr]:
    """Yield simpler expressions in place of this one."""
    yield from children(expr)
    if isinstance(expr, Sequence | Choice):
        for i in range(len(expr.items)):
            yield replace(expr, items=expr.items[:i] + expr.items[i + 1 :])
        for i, item in enumerate(expr.items):
            for other in smaller(item):
                yield replace(expr, items=(*expr.items[:i], other, *expr.items[i + 1 :]))
    elif children(expr):
        [item] = children(expr)[:1]
        if len(children(expr)) == 1:
            for other in smaller(item):
                yield replace(expr, item=other)
        else:
            for i, item in enumerate(children(expr)):
                for other in smaller(item):
                    items = children(expr)
                    yield replace(expr, items=(*items[:i], other, *items[i + 1 :]))
    if isinstance(expr, Repeat):
        for low, high in ((0, None), (0, 1), (1, None), (1, 2), (2, 2)):
            if high is None or expr.max is None or high <= expr.max:
                yield replace(expr, min=low, max=high)
    if isinstance(expr, Literal) and len(expr.data) > 1:
        yield Literal(expr.data[:1])
        yield Literal(expr.data[1:])
    if expr != EPSILON:
        yield EPSILON


def size(case: Case) -> int:
    nodes = sum(sum(2 + len(repr(e)) // 50 for e in walk(rule.body)) for rule in case.rules.rules.values())
    text = sum(len(e.data) for r in case.rules.rules.values() for e in walk(r.body) if isinstance(e, Literal))
    return 10 * nodes + text + 3 * sum(len(t or b"") > 1 for t in case.vocabulary.tokens)


def candidates(case: Case) -> Iterator[Case]:
    rules = case.rules.rules
    used = {e.name for r in rules.values() for e in walk(r.body) if isinstance(e, RuleRef)}
    for name in rules:
        if name not in used and name != case.rules.start:
            yield with_rules(case, {n: r for n, r in rules.items() if n != name})
    for name, rule in rules.items():
        for body in smaller(rule.body):
            yield with_rules(case, {**rules, name: Rule(name, body)})
    tokens = case.vocabulary.tokens
    long_ids = [i for i, t in enumerate(tokens) if t and len(t) > 1]
    for chunk in (long_ids[::2], long_ids[1::2], *([i] for i in long_ids)):
        if chunk:
            fewer = [None if i in chunk else t for i, t in enumerate(tokens)]
            yield Case(case.rules, replace(case.vocabulary, tokens=fewer))


def with_rules(case: Case, rules: dict[str, Rule]) -> Case:
    return Case(RuleSet(rules, case.rules.start, case.rules.initial), case.vocabulary)


def shrink(case: Case, fails: Callable[[Case], bool], budget: int = 3000) -> Case:
    """Return a smaller case that still fails; greedy, at most ``budget`` trials."""
    assert fails(case)
    trials = 0
    progress = True
    while progress and trials < budget:
        progress = False
        for candidate in candidates(case):
            if size(candidate) >= size(case):
                continue
            trials += 1
            if fails(candidate):
                case, progress = candidate, True
                break
            if trials >= budget:
                break
    return case
