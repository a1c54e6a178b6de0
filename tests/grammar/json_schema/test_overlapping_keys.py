"""Patterns of keys that overlap, where a key outside or inside of them must be found."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import jsonschema
import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm

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
    valid = jsonschema.Draft202012Validator(schema).is_valid
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(schema, property_order=order))
    verdicts = set()
    for keys in [(key,) for key in KEYS] + list(permutations(KEYS, 2)):
        for values in ((2, 1), ("s", 2), (None, 0)):
            value = dict(zip(keys, values, strict=False))
            matcher = compiled.matcher()
            accepted = matcher.accept_string(json.dumps(value).encode()) and matcher.is_accepting()
            assert accepted == valid(value), value
            verdicts.add(accepted)
    assert verdicts == {True, False}
