"""How large a schema is when written out, against counting it."""

from __future__ import annotations

import random
from typing import Any

from stackmask.grammar.json_schema.document.schema_size import is_larger


def count(value: Any, around: frozenset[int] = frozenset()) -> float:
    """Return the parts of a value; no end if it holds itself."""
    if not isinstance(value, dict | list | tuple):
        return 1
    if id(value) in around:
        return float("inf")
    parts = value.values() if isinstance(value, dict) else value
    return 1 + sum(count(part, around | {id(value)}) for part in parts)


def test_values_that_share_parts() -> None:
    for seed in range(1_000):
        rng = random.Random(seed)
        made: list[Any] = [1, "a", None]
        for _ in range(rng.randint(1, 7)):
            parts = [rng.choice(made) for _ in range(rng.randint(0, 3))]
            made.append(rng.choice([parts, tuple(parts), {str(i): part for i, part in enumerate(parts)}]))
        lists = [value for value in made if isinstance(value, list)]
        if lists and rng.random() < 0.2:
            rng.choice(lists).append(rng.choice(made))  # some hold themselves
        for most in (1, 2, 5, 10, 30):
            assert is_larger(made[-1], most) == (count(made[-1]) > most), seed


def test_deep_and_doubled() -> None:
    deep: list[Any] = []
    doubled: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for _ in range(50):
        doubled = [doubled, doubled]
    assert not is_larger(deep)
    assert is_larger(doubled)
