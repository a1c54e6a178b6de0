"""Patterns of keys that overlap, where a key outside or inside of them must be found."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest
from support.random_schemas import judge

PATTERNS: dict[str, Any] = {"b": {"type": "integer"}, "^.a": {"minimum": 1}}
CLOSED = {"patternProperties": PATTERNS, "additionalProperties": False}
THREE = {
    "patternProperties": {"a": {}, "b": {"minimum": 2}, "^c": {}},
    "additionalProperties": {"type": "null"},
}
KEYS = ("a", "b", "ab", "xa", "ca", "cb", "ba", "x", "xab")


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "not": CLOSED},
        {"type": "object", "not": {"patternProperties": {"b": {}, "^.a": {}}, "additionalProperties": False}},
        {"if": CLOSED, "then": {"minProperties": 2}, "type": "object"},
        {"type": "object", "not": THREE},
        {"type": "object", "allOf": [{"not": CLOSED}, {"patternProperties": {"a": {"maximum": 1}}}]},
    ],
)
def test_a_key_that_must_be_found(schema: Any, order: str) -> None:
    values = [
        dict(zip(keys, values, strict=False))
        for keys in [(key,) for key in KEYS] + list(permutations(KEYS, 2))
        for values in ((2, 1), ("s", 2), (None, 0))
    ]
    counts = judge(schema, values, random.Random(0), property_order=order)
    assert counts["valid"] and counts["invalid"]
