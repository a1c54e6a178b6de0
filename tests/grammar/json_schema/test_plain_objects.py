"""Schemas of tools have the rules that the whole reader writes, but for sequences within sequences."""

from __future__ import annotations

import random
from typing import Any

import pytest

from stackmask.grammar import ir
from stackmask.grammar.ir.build import rebuild, sequence
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.frontend import schema_rules, tool_rules

BLANKS = r"[ \n\t\r]*"
LEAVES: tuple[Any, ...] = (
    {"type": "string"},
    {"type": "string", "description": "A text.", "default": "a"},
    {"type": "integer", "minimum": 0, "maximum": 1000},
    {"type": "number", "exclusiveMinimum": 0},
    {"type": ["boolean", "null"]},
    {"enum": ["celsius", 'a "b"', None, 7]},
    {"const": "ä\\n"},
    {"type": "string", "pattern": "^[a-f]+$"},
    {"type": "string", "format": "date", "title": "Day"},
    {"type": "string", "minLength": 2},
    {"type": "string", "maxLength": 3, "$schema": "http://json-schema.org/draft-04/schema#"},
    {"type": "integer"},
    {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 2},
)
NAMES = ("city", "über", "a/b", 'q"', "\\", "\n", "", "value1", "json", "€uro", "type", "description")


def random_object(rng: random.Random, depth: int) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.randint(1, 4))
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: random_value(rng, depth - 1) for name in names},
    }
    if rng.random() < 0.7:
        schema["required"] = rng.sample(names, rng.randint(0, len(names)))
    if rng.random() < 0.7:
        schema["additionalProperties"] = rng.random() < 0.3
    if rng.random() < 0.3:
        schema["description"] = rng.choice(("An object.", "Another one."))
    return schema


def random_value(rng: random.Random, depth: int) -> dict[str, Any]:
    if depth <= 0 or rng.random() < 0.6:
        found: dict[str, Any] = rng.choice(LEAVES)
        return found
    if rng.random() < 0.4:
        return {"type": "array", "items": random_value(rng, depth - 1)}
    return random_object(rng, depth)


def flat(expr: ir.Expr) -> ir.Expr:
    """Return an expression without sequences in sequences."""
    if isinstance(expr, ir.Sequence):
        return sequence(map(flat, expr.items))
    return rebuild(expr, tuple(map(flat, ir.children(expr))))


def flat_rules(rules: ir.RuleSet) -> dict[str, ir.Expr]:
    return {name: flat(rule.body) for name, rule in rules.rules.items()}


def whole(schema: Any, profile: str = "exact") -> ir.RuleSet:
    if profile == "model":
        return schema_rules(schema, profile="model")[0]
    return schema_rules(schema, spelling="plain", whitespace={"pattern": BLANKS})[0]


def plain(schema: Any, profile: str = "exact") -> ir.RuleSet:
    return tool_rules(schema, profile, BLANKS if profile == "exact" else "")[0]


@pytest.mark.parametrize("profile", ["exact", "model"])
@pytest.mark.parametrize("seed", range(40))
def test_they_are_the_rules_of_the_whole_reader(seed: int, profile: str) -> None:
    rng = random.Random(f"plain {seed}")
    for _ in range(5):
        schema = random_object(rng, 3)
        expected = whole(schema, profile)
        found = plain(schema, profile)
        assert list(found.rules) == list(expected.rules)
        assert (found.start, found.initial, found.sources) == (expected.start, expected.initial, ())
        assert flat_rules(found) == flat_rules(expected), schema


STRING = {"type": "string"}
OTHERS: tuple[Any, ...] = (
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"a": True}},
    {"type": "object", "properties": {"a": {}}},
    {"type": "object", "properties": {"a": STRING}, "minProperties": 1},
    {"type": "object", "properties": {"a": STRING}, "required": ["b"]},
    {"type": "object", "properties": {"a": STRING}, "required": ["a", "a"]},
    {"type": "object", "properties": {"a": STRING}, "additionalProperties": STRING},
    {"type": "object", "properties": {"a": STRING}, "$schema": "http://json-schema.org/draft-04/schema#"},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": STRING}},
    {"type": "object", "properties": {"a": {"type": "array", "items": STRING, "minItems": 1}}},
    {"type": "object", "properties": {"a": {"type": "array"}}},
    {"type": "object", "properties": {f"a{i}": STRING for i in range(60)}},
    {"type": "object", "properties": {"a": {"type": "string", "$id": "x"}}},
    {"type": "object", "properties": {"a": {"type": "number", "multipleOf": 0.7}}},
    {"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": STRING}},
    {"type": "array", "items": STRING},
    {"anyOf": [{"type": "object", "properties": {"a": STRING}}]},
)


@pytest.mark.parametrize("profile", ["exact", "model"])
@pytest.mark.parametrize("schema", OTHERS)
def test_others_have_the_rules_of_the_whole_reader(schema: Any, profile: str) -> None:
    assert flat_rules(plain(schema, profile)) == flat_rules(whole(schema, profile))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": STRING, "b": {"type": "text"}}},
        {"type": "object", "properties": {"a": STRING}, "required": "a"},
        {"type": "object", "properties": {"a": STRING}, "additionalProperties": 1},
        {"type": "object", "properties": {"\ud800": STRING}},
        {"type": "object", "properties": {1: STRING}},
        {"type": "object", "properties": {"a": STRING}, "$id": 1},
        {"type": "object", "properties": {"a": {"type": "array", "items": 1}}},
    ],
)
def test_what_is_wrong_is_said_by_the_whole_reader(schema: Any) -> None:
    with pytest.raises(SchemaError) as expected:
        whole(schema)
    with pytest.raises(SchemaError) as found:
        tool_rules(schema, "exact", BLANKS)
    assert str(found.value) == str(expected.value)
