"""How large a schema is when written out, against counting it."""

from __future__ import annotations

import random
from typing import Any

import pytest

import stackmask as sm
from stackmask.grammar.json_schema.document.schema_size import has_own_parts, is_larger, written_bytes
from stackmask.grammar.json_schema.frontend import MOST_WRITTEN, key_of
from stackmask.grammar.json_schema.write.whitespace import Whitespace


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


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({}, True),
        ({"a": [1, 2.5, True, None, "b"], "c": {}}, True),
        ({"a": "b" * 99}, True),
        ({"a": "b" * 100}, False),
        ({"b" * 101: 1}, False),
        ({"a": 1 << 900}, False),
        ({"a": list(range(21))}, False),
        ({"a": (1, 2)}, False),
        ({"a": b"b"}, False),
        ({1: "a"}, False),
        ({"a": object()}, False),
    ],
)
def test_what_may_be_remembered(value: dict[Any, Any], fits: bool) -> None:
    assert has_own_parts(value, 20, 100) == fits
    assert has_own_parts({"x": value}, 21, 101) == fits


def test_a_part_in_two_places_is_not_remembered() -> None:
    part = {"type": "string"}
    assert not has_own_parts({"a": part, "b": part}, 20, 100)
    assert has_own_parts({"a": part, "b": part}, 4, 100, or_shared=True)
    assert not has_own_parts({"a": part, "b": part}, 3, 100, or_shared=True)
    cycle: dict[str, Any] = {}
    cycle["a"] = cycle
    assert not has_own_parts(cycle, 20, 100, or_shared=True)


@pytest.mark.parametrize("scalar", [False, None, 0, 1.5, "a", 1 << 60])
def test_a_schema_with_a_key_is_counted_as_no_more_than_its_bound(scalar: Any) -> None:
    count = 1
    while key_of({"enum": [scalar] * count}, (), Whitespace.of(None)) is not None:
        count += 1
    largest = {"enum": [scalar] * (count - 1)}
    assert count > 100
    assert written_bytes([largest, None], 1 << 20) <= MOST_WRITTEN


def test_a_limit_of_input_holds_for_a_schema_that_is_remembered() -> None:
    schema = {"type": "object", "properties": {"name": {"enum": ["a" * 100]}}}
    assert sm.Grammar.from_json_schema(schema).rules
    with pytest.raises(sm.BudgetError, match="max_input_bytes"):
        sm.Grammar.from_json_schema(schema, limits=sm.Limits(max_input_bytes=50))


def test_any_value_is_remembered() -> None:
    assert sm.Grammar.json().rules is sm.Grammar.json().rules
    assert sm.Grammar.from_json_schema(True).rules is sm.Grammar.json().rules


@pytest.mark.parametrize("name", ["formats", "draft", "profile", "dialect", "spelling", "property_order"])
def test_options_that_cannot_be_hashed_are_told(name: str) -> None:
    with pytest.raises(sm.SchemaError, match=rf"`{name}`: \['x'\] is not a string"):
        sm.Grammar.from_json_schema({}, **{name: ["x"]})
