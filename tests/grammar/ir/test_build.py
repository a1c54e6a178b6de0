"""Constructors of expressions: what they join means the same as what they are given."""

from __future__ import annotations

from itertools import product

import pytest

from stackmask.grammar.ir import EPSILON, Expr, Literal, Repeat
from stackmask.grammar.ir.build import repeat

MOST = 40  # counts that are looked at


def counts(expr: Expr) -> set[int]:
    """Return how often one letter may come, up to ``MOST`` times."""
    if expr == EPSILON:
        return {0}
    if not isinstance(expr, Repeat):
        return {1}
    once = counts(expr.item)
    found: set[int] = set()
    reached = {0}
    for rounds in range(MOST + 1 if expr.max is None else expr.max + 1):
        if rounds >= expr.min:
            found |= reached
        reached = {a + b for a, b in product(reached, once) if a + b <= MOST}
    return found


@pytest.mark.parametrize("inner", [(m, n) for m in range(5) for n in (*range(max(m, 1), 6), None)])
def test_repetitions_of_repetitions_have_the_same_counts(inner: tuple[int, int | None]) -> None:
    item = Repeat(Literal(b"a"), *inner)
    for low in range(4):
        for high in (*range(max(low, 1), 5), None):
            made = repeat(item, low, high)
            assert counts(made) == counts(Repeat(item, low, high)), (inner, low, high, made)
