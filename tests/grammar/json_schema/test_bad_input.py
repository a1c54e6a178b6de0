"""What is not a schema, or cannot be enforced, is a clear error with its place, soon."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.json_schema_engine import COMPILER

import stackmask as sm


def nested(levels: int, wrap: Any, inner: Any = None) -> Any:
    """Return a schema wrapped many times."""
    schema = {"type": "string"} if inner is None else inner
    for _ in range(levels):
        schema = wrap(schema)
    return schema


NO_SCHEMA: list[tuple[Any, str, str, str]] = [
    ('{"type":', "#", "", "not JSON"),
    ("NaN", "#", "", "not JSON"),
    ('{"minimum": 1e999999999}', "#", "", "exponent"),
    ("[" * 100_000, "#", "", "nested too deeply"),
    ([1], "#", "", "not [1]"),
    (None, "#", "", "not None"),
    ({"type": 7}, "#", "type", "not 7"),
    ({"$id": 3}, "#", "$id", "a string, not 3"),
    ({"properties": {"a": {"$anchor": 3}}}, "#/properties/a", "$anchor", "a string, not 3"),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "id": []}, "#", "id", "a string, not an array"),
    ({"properties": {"a/b": {"type": "strin"}}}, "#/properties/a~1b", "type", "is not a type"),
    ({"items": 3}, "#/items", "", "an object or a boolean"),
    ({"minLength": -1}, "#", "minLength", "natural number"),
    ({"minLength": 1.5}, "#", "minLength", "natural number"),
    ({"required": "a"}, "#", "required", "must be an array"),
    ({"required": [1]}, "#", "required", "must contain strings"),
    ({"enum": "a"}, "#", "enum", "must be an array"),
    ({"enum": [{1}]}, "#", "enum", "not a JSON value"),
    ({"minimum": float("nan")}, "#", "minimum", "not a JSON number"),
    ({"multipleOf": 0}, "#", "multipleOf", "above zero"),
    ({"allOf": []}, "#", "allOf", "must not be empty"),
    ({"pattern": "(a"}, "#", "pattern", "unclosed group"),
    ({"patternProperties": {"[": {}}}, "#/patternProperties", "[", "unclosed class"),
    ({"properties": {1: {"type": "null"}}}, "#/properties", "properties", "not a key"),
    ({"$ref": 1}, "#", "$ref", "must be a string"),
    ({"$ref": "#/definitions/x"}, "#", "$ref", "no `definitions`"),
    ({"$ref": "#x"}, "#", "$ref", "no anchor"),
    ({"items": {"$ref": "http://example.org/s"}}, "#/items", "$ref", "nothing is fetched"),
    ({"$ref": "#"}, "#", "$ref", "leads back to itself"),
    ({"allOf": [{"$ref": "#"}]}, "#", "$ref", "leads back to itself"),
    ({"allOf": [{"$ref": "#"}, {"type": "null"}]}, "#", "$ref", "without end"),
    ({"anyOf": [{"type": "null"}, {"not": {"$ref": "#"}}]}, "#", "$ref", "without end"),
    ({"const": nested(10_000, lambda s: [s])}, "#/const", "const", "levels deep"),
]


@pytest.mark.parametrize("case", NO_SCHEMA)
def test_no_schema(case: tuple[Any, str, str, str]) -> None:
    schema, pointer, keyword, reason = case
    with pytest.raises(sm.SchemaError) as caught:
        sm.Grammar.from_json_schema(schema)
    error = caught.value
    assert not isinstance(error, sm.UnsupportedSchemaError | sm.UnsatisfiableSchemaError)
    assert (error.pointer, error.keyword) == (pointer, keyword)
    assert reason in error.reason


UNSUPPORTED: list[tuple[Any, str]] = [
    ({"$schema": "http://json-schema.org/draft-03/schema#"}, "$schema"),
    ({"pattern": r"(a)\1"}, "pattern"),
    ({"minLength": 10**12}, "minLength"),
    (nested(10_000, lambda s: {"anyOf": [s, {"type": "null"}]}), "allOf"),
    (nested(10_000, lambda s: {"not": s}), "allOf"),
    (nested(10_000, lambda s: {"propertyNames": s}), "propertyNames"),
    (nested(1_000, lambda s: {"propertyNames": {"anyOf": [s, {"const": "a"}]}}), "propertyNames"),
    ({"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(30)]}, "allOf"),
    (
        {"oneOf": [{"properties": {f"k{j}": {"type": "null"} for j in range(i, i + 20)}} for i in range(30)]},
        "oneOf",
    ),
    ({"allOf": [{"patternProperties": {f"a.*b{i}": {}}} for i in range(20)]}, "patternProperties"),
    ({"allOf": [{"pattern": f"(a|b)*a(a|b){{{i}}}$"} for i in range(10, 24)]}, "pattern"),
]


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_unsupported(case: tuple[Any, str]) -> None:
    schema, keyword = case
    with pytest.raises(sm.UnsupportedSchemaError) as caught:
        sm.Grammar.from_json_schema(schema)
    assert caught.value.keyword == keyword


PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "allOf": [{"not": {"multipleOf": p}} for p in PRIMES]},
        {"anyOf": [{"multipleOf": p + 0.5} for p in PRIMES]},
        {"items": {"type": "integer", "multipleOf": 100_003}, "uniqueItems": True},
        {"items": {"anyOf": [{"type": "integer", "multipleOf": 7}, {"type": "array"}]}, "uniqueItems": True},
    ],
)
def test_multiples_beyond_the_budget(schema: Any) -> None:
    with pytest.raises(sm.UnsupportedSchemaError):
        sm.Grammar.from_json_schema(schema)
    report = sm.Grammar.from_json_schema(schema, on_unsupported="relax").report
    assert report is not None
    assert report.relaxed


WIDER: list[tuple[Any, str, list[str]]] = [
    ({"not": {"pattern": r"(a)\1"}}, "pattern", ['"aa"', '"b"']),
    ({"oneOf": [{"pattern": r"(a)\1"}, {"maxLength": 1}]}, "pattern", ['"aa"', '"b"', '"bb"']),
    (
        {"patternProperties": {r"(a)\1": {"type": "null"}}, "additionalProperties": False},
        r"(a)\1",
        ['{"aa": null, "b": 2}'],
    ),
    ({"not": {"uniqueItems": True}}, "uniqueItems", ["[1, 1]"]),
    (
        {"items": {"enum": [[1], [2]]}, "contains": {"const": [1]}, "uniqueItems": True},
        "uniqueItems",
        ["[[1]]"],
    ),
    (
        {"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(30)]},
        "allOf",
        ["1"],
    ),
    (
        {"oneOf": [{"properties": {f"k{j}": {"type": "null"} for j in range(i, i + 20)}} for i in range(30)]},
        "oneOf",
        ['{"k0": 1}', "{}"],
    ),
    ({"contains": {"type": "integer", "multipleOf": 7}, "minContains": 3000}, "contains", ["{}"]),
]


@pytest.mark.parametrize("case", WIDER)
def test_relaxed_is_wider(case: tuple[Any, str, list[str]]) -> None:
    schema, keyword, valid = case
    with pytest.raises(sm.UnsupportedSchemaError):
        sm.Grammar.from_json_schema(schema)
    grammar = sm.Grammar.from_json_schema(schema, on_unsupported="relax")
    assert grammar.report is not None
    assert keyword in [note.keyword for note in grammar.report.relaxed]
    for text in valid:
        matcher = COMPILER.compile(grammar).matcher()
        assert matcher.accept_string(text), text
        assert matcher.is_accepting(), text


@pytest.mark.campaign
def test_a_megabyte_of_different_parts_is_read() -> None:
    """How long that takes is measured in lab/benchmarks/json_schema.py; here it must stay within the budgets."""

    def part(i: int) -> dict[str, Any]:
        return {
            "type": "object",
            "description": "d" * 300,
            "properties": {f"id{i}": {"type": "integer", "minimum": i}, "name": {"enum": [f"n{i}", i]}},
            "required": [f"id{i}"],
        }

    text = json.dumps({"type": "object", "properties": {f"p{i:04}": part(i) for i in range(2500)}})
    assert len(text) > 1_000_000
    matcher = COMPILER.compile(sm.Grammar.from_json_schema(text)).matcher()
    for value, valid in (
        ({"p0007": {"id7": 7}, "p2499": {"id2499": 5000, "name": "n2499"}}, True),
        ({"p0007": {"id7": 6}}, False),
        ({"p2499": {"id2499": 5000, "name": "n2498"}}, False),
        ({"p2499": {"id2498": 5000}}, False),
    ):
        matcher.reset()
        accepted = matcher.accept_string(json.dumps(value)) and matcher.is_accepting()
        assert accepted == valid, value


UNSATISFIABLE: list[Any] = [
    False,
    {"type": "string", "enum": [1]},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    {"type": "string", "minLength": 3, "pattern": "^.{2}$"},
    {"allOf": [{"type": "integer"}, {"minimum": 3, "maximum": 2}]},
    {"type": "object", "required": ["a"], "maxProperties": 0},
    {"type": "array", "items": False, "minItems": 1},
    {"type": "array", "items": {"enum": [1, 1.0]}, "uniqueItems": True, "minItems": 2},
    {"type": "object", "required": ["b"], "propertyNames": {"const": "a"}},
]


@pytest.mark.parametrize("schema", UNSATISFIABLE)
def test_unsatisfiable(schema: Any) -> None:
    with pytest.raises(sm.UnsatisfiableSchemaError) as caught:
        sm.Grammar.from_json_schema(schema)
    assert "clash" in caught.value.reason


def test_the_message_says_which_parts_clash() -> None:
    schema = {
        "properties": {"a": {"type": "string"}},
        "allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"], "type": "object"}],
    }
    with pytest.raises(sm.UnsatisfiableSchemaError) as caught:
        sm.Grammar.from_json_schema(schema)
    assert "#" in caught.value.reason


@pytest.mark.parametrize(
    "wrap", [lambda s: {"type": "array", "items": s}, lambda s: {"properties": {"a": s}}]
)
def test_ten_thousand_levels(wrap: Any) -> None:
    assert len(sm.Grammar.from_json_schema(nested(10_000, wrap)).rules.rules) > 10_000


def test_parts_in_many_places() -> None:
    """Written out, the schema would have 2^60 parts."""
    shared = nested(60, lambda s: {"type": ["object", "array"], "properties": {"a": s}, "items": s})
    assert sm.Grammar.from_json_schema(shared).rules.rules
    elsewhere = {"https://example.org/x": shared}
    assert sm.Grammar.from_json_schema({"$ref": "https://example.org/x"}, resources=elsewhere).rules.rules
    with pytest.raises(sm.SchemaError, match="parts"):
        sm.Grammar.from_json_schema({"const": nested(60, lambda v: [v, v], [1])})


def test_a_schema_that_holds_itself() -> None:
    schema: dict[str, Any] = {"type": ["object", "integer"], "properties": {}, "additionalProperties": False}
    schema["properties"].update(a=schema, b=schema)
    matcher = COMPILER.compile(sm.Grammar.from_json_schema(schema)).matcher()
    assert matcher.accept_string('{"a": {"a": 1, "b": {}}, "b": 2')
    assert not matcher.accept_string(', "c"')


def test_relaxed_places_are_listed() -> None:
    grammar = sm.Grammar.from_json_schema({"pattern": r"(a)\1"}, on_unsupported="relax")
    assert grammar.report is not None
    assert [(note.pointer, note.keyword) for note in grammar.report.relaxed] == [("#", "pattern")]


@pytest.mark.campaign
def test_what_is_relaxed_for_one_is_refused_to_the_next() -> None:
    for leaf in ({"type": "integer", "multipleOf": 3.14159}, {"multipleOf": 1_000_000_001, "maximum": -5}):
        for schema in (leaf, {"type": "array", "items": leaf}, {"anyOf": [leaf, {"type": "array"}]}):
            for _ in range(2):
                relaxed = sm.Grammar.from_json_schema(schema, on_unsupported="relax")
                assert relaxed.report is not None
                assert [note.keyword for note in relaxed.report.relaxed] == ["multipleOf"]
                with pytest.raises(sm.UnsupportedSchemaError, match="multipleOf"):
                    sm.Grammar.from_json_schema(schema)
