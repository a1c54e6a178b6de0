"""Dialects of JSON Schema: what they say otherwise, and what they do not have, by place, reason and cure."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm

TEXT = {"type": "string"}


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an object of these properties, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = closed({"a": TEXT})
    for _ in range(levels - 1):
        schema = closed({"a": schema})
    return schema


PET = {
    "$ref": "#/components/schemas/Pet",
    "components": {
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["kind"],
                "properties": {
                    "kind": TEXT,
                    "name": {"type": "string", "nullable": True, "example": "x"},
                    "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                },
                "discriminator": {"propertyName": "kind"},
                "x-of": "here",
            }
        }
    },
}


@pytest.mark.parametrize(
    ("dialect", "schema", "accepted", "rejected"),
    [
        (
            "openapi-3.0",
            PET,
            ['{"kind": "c", "name": null}', '{"kind": "c", "age": 1}'],
            ['{"kind": null}', '{"kind": "c", "age": 0}'],
        ),
        ("openapi-3.0", {"nullable": True, "enum": ["a"]}, ['"a"'], ["null"]),
        ("openapi-3.0", {"type": "string", "nullable": True, "enum": ["a", None]}, ['"a"', "null"], ['"b"']),
        (
            "openapi-3.1",
            {
                "$schema": "https://spec.openapis.org/oas/3.1/dialect/base",
                "type": ["integer", "null"],
                "exclusiveMinimum": 1,
                "example": 2,
            },
            ["null", "2"],
            ["1"],
        ),
        ("openai-strict", closed({"a": {"type": ["string", "null"]}}), ['{"a": null}'], ["{}", '{"a": 1}']),
        (
            "gemini",
            {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]},
            ["1", "-1", "0.5"],
            ["-0.5"],
        ),
        (
            "gemini",
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "propertyOrdering": ["b", "a"]},
            ['{"b": "", "a": ""}'],
            ['{"a": "", "b": ""}'],
        ),
        (
            "gemini",
            {"type": "object", "properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
            ['{"a": {"a": {}}}'],
            ["1"],
        ),
        ("anthropic", closed({"a": {"allOf": [TEXT, {"pattern": "^x"}]}}), ['{"a": "xy"}'], ['{"a": "y"}']),
    ],
)
def test_what_is_valid(dialect: str, schema: Any, accepted: list[str], rejected: list[str]) -> None:
    before = copy.deepcopy(schema)
    compiled = COMPILER.compile(sm.Grammar.from_json_schema(schema, dialect=dialect))
    assert schema == before
    for text in accepted + rejected:
        matcher = compiled.matcher()
        assert (matcher.accept_string(text) and matcher.is_accepting()) == (text in accepted), text


@pytest.mark.parametrize(
    ("dialect", "schema", "place", "keyword", "part"),
    [
        ("openapi-3.0", {"properties": {"a": {"type": ["string"]}}}, "#/properties/a", "type", "one word"),
        ("openapi-3.0", {"const": 1}, "#", "const", "`enum` with one value"),
        ("openapi-3.0", {"nullable": 1}, "#", "nullable", "true or false"),
        ("openapi-3.0", {"exclusiveMinimum": 1}, "#", "exclusiveMinimum", "as `minimum`"),
        ("openapi-3.0", {"discriminator": "a"}, "#", "discriminator", "propertyName"),
        ("openapi-3.1", {"items": {"nullable": True}}, "#/items", "nullable", '"null"'),
        ("openapi-3.1", {"exclusiveMaximum": True}, "#", "exclusiveMaximum", "a number"),
        ("openai-strict", {"type": "array"}, "#", "type", "an object"),
        ("openai-strict", {"type": "object"}, "#", "additionalProperties", "closed"),
        ("openai-strict", closed({"a": TEXT}, required=[]), "#", "required", "'a'"),
        ("openai-strict", closed({"a": {"allOf": [TEXT]}}), "#/properties/a", "allOf", "one schema"),
        (
            "openai-strict",
            closed({"a": {"type": "string", "format": "uri"}}),
            "#/properties/a",
            "format",
            "uuid",
        ),
        ("openai-strict", nested(11), "#" + "/properties/a" * 10, "properties", "10 levels"),
        ("openai-strict", closed({f"p{i}": TEXT for i in range(5001)}), "#", "properties", "5,000"),
        ("openai-strict", closed({"a": {"enum": list(range(1001))}}), "#/properties/a", "enum", "1,000"),
        ("openai-strict", closed({"a": {"enum": [f"{i:099}" for i in range(251)]}}), None, "enum", "15,000"),
        ("openai-strict", closed({"a" * 120_001: TEXT}), "#", "", "120,000"),
        ("gemini", {"enum": [None]}, "#", "enum", "strings and numbers"),
        ("gemini", {"$ref": "#/$defs/a", "title": "t", "$defs": {"a": TEXT}}, "#", "title", "beside `$ref`"),
        (
            "gemini",
            {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
            None,
            "$ref",
            "itself",
        ),
        ("anthropic", closed({"a": {"$ref": "#"}}), "#/properties/a", "$ref", "itself"),
        ("anthropic", {"type": "array", "minItems": 2}, "#", "minItems", "0 or 1"),
        ("anthropic", {"enum": [{}]}, "#", "enum", "no arrays"),
        ("anthropic", {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": TEXT}}, "#", "allOf", "`$ref`"),
        ("anthropic", {"$ref": "https://example.org/a"}, "#", "$ref", "`$defs`"),
        ("anthropic", closed({f"p{i}": TEXT for i in range(25)}, required=[]), "#", "properties", "24"),
        (
            "anthropic",
            closed({f"p{i}": {"type": ["null", "string"]} for i in range(17)}),
            None,
            "anyOf",
            "16",
        ),
    ],
)
def test_what_a_dialect_does_not_have(
    dialect: str, schema: Any, place: str | None, keyword: str, part: str
) -> None:
    with pytest.raises(sm.DialectError) as caught:
        sm.Grammar.from_json_schema(schema, dialect=dialect)
    error = caught.value
    assert (error.dialect, error.keyword) == (dialect, keyword)
    assert place is None or error.pointer == place
    assert part in str(error)
    assert error.cure
    assert str(error).endswith(error.cure)


def test_limits_are_reached() -> None:
    sm.Grammar.from_json_schema(nested(10), dialect="openai-strict")
    wide = closed({f"p{i}": TEXT for i in range(24)}, required=[])
    sm.Grammar.from_json_schema(wide, dialect="anthropic")


@pytest.mark.parametrize("options", [{"dialect": "openai"}, {"dialect": "gemini", "draft": "7"}])
def test_options(options: dict[str, Any]) -> None:
    with pytest.raises(sm.SchemaError):
        sm.Grammar.from_json_schema(True, **options)
