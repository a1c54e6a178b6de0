"""Sources, drafts, references, whitespace, property order, the report."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from json_schema.engine import COMPILER
from typing_extensions import TypedDict

import stackmask as sm


def accepts(schema: Any, text: str, **options: Any) -> bool:
    matcher = COMPILER.compile(sm.Grammar.from_json_schema(schema, **options)).matcher()
    return bool(matcher.accept_string(text) and matcher.is_accepting())


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}


class Typed(TypedDict):
    a: int


@dataclasses.dataclass
class Data:
    a: int


def test_sources(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA), encoding="utf-8")
    for source in (SCHEMA, json.dumps(SCHEMA), json.dumps(SCHEMA).encode(), file):
        assert accepts(source, '{"a": 1}')
        assert not accepts(source, '{"a": "1"}')
    assert accepts(True, "[]")


def test_types() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        a: int
        child: Model | None = None

    for source in (Model, Data, Typed, list[Data]):
        text = '{"a": 1}'
        assert accepts(source, f"[{text}]" if source == list[Data] else text)
    assert accepts(Model, '{"a": 1, "child": {"a": 2, "child": null}}')
    assert not accepts(Model, '{"a": 1, "child": {"child": null}}')


@pytest.mark.parametrize(
    ("draft", "schema", "accepted", "rejected"),
    [
        ("4", {"type": "integer", "minimum": 1, "exclusiveMinimum": True}, "2", "1"),
        ("draft4", {"type": "integer"}, "1", "1.0"),
        ("7", {"items": [{"type": "null"}], "additionalItems": False}, "[null]", "[null, 1]"),
        ("draft7", {"definitions": {"a": {}}, "$ref": "#/definitions/a", "type": "null"}, "1", "}"),
        ("2019-09", {"$defs": {"a": {}}, "$ref": "#/$defs/a", "type": "null"}, "null", "1"),
        ("2020-12", {"prefixItems": [{"type": "null"}], "items": False}, "[null]", "[null, 1]"),
        (None, {"items": [{"type": "null"}], "additionalItems": False}, "[null]", "[null, 1]"),
        (None, {"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}, "2", "}"),
    ],
)
def test_drafts(draft: str | None, schema: Any, accepted: str, rejected: str) -> None:
    assert accepts(schema, accepted, draft=draft)
    assert not accepts(schema, rejected, draft=draft)


def test_references() -> None:
    resources = {"http://example.org/item": {"$defs": {"x": {"$anchor": "here", "type": "null"}}}}
    schema = {
        "$id": "http://example.org/root",
        "properties": {
            "a": {"$ref": "item#here"},
            "b": {"$ref": "item#/$defs/x"},
            "c": {"$ref": "#/$defs/own"},
            "d": {"$ref": "inner"},
        },
        "$defs": {"own": {"type": "string"}, "i": {"$id": "inner", "type": "boolean"}},
    }
    assert accepts(schema, '{"a": null, "b": null, "c": "", "d": true}', resources=resources)
    for text in ('{"a": 1}', '{"b": 1}', '{"c": 1}', '{"d": 1}'):
        assert not accepts(schema, text, resources=resources)
    referencing = pytest.importorskip("referencing")
    specification = pytest.importorskip("referencing.jsonschema").DRAFT202012
    registry = referencing.Registry().with_resources(
        (uri, referencing.Resource.from_contents(contents, specification))
        for uri, contents in resources.items()
    )
    assert accepts(schema, '{"a": null}', resources=registry)


def test_metaschemas_are_at_hand() -> None:
    schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert accepts(schema, '{"type": "string", "items": {"minLength": 1}}', property_order="any")
    assert not accepts(schema, '{"items": {"minLength": -1}}', property_order="any")


@pytest.mark.parametrize(
    ("option", "accepted", "rejected"),
    [
        ("any", ['{"a":1}', '{ "a" : 1 }', '{\n  "a": 1\n}'], ['{"a":' + " " * 41 + "1}", ' {"a": 1}']),
        ({"max": 1}, ['{ "a" : 1 }'], ['{  "a": 1}']),
        ("compact", ['{"a":1,"b":[1,{}]}'], ['{"a": 1}', '{"a":1,"b":[1, 2]}']),
        ({"separators": (", ", ": ")}, ['{"a": 1, "b": [1, {}]}'], ['{"a":1}', '{ "a": 1}']),
        ({"pattern": "[ ]?"}, ['{"a": 1}', '{ "a" :1}'], ['{"a":  1}', '{"a":\n1}']),
    ],
)
def test_whitespace(option: Any, accepted: list[str], rejected: list[str]) -> None:
    for text in accepted:
        assert accepts(SCHEMA, text, whitespace=option), text
    for text in rejected:
        assert not accepts(SCHEMA, text, whitespace=option), text


@pytest.mark.parametrize("option", ["none", {"max": -1}, {"separators": (";", ":")}, {"pattern": "x"}, 3])
def test_no_whitespace_option(option: Any) -> None:
    with pytest.raises(sm.SchemaError, match="whitespace"):
        sm.Grammar.from_json_schema({}, whitespace=option)


def test_property_order() -> None:
    schema = {
        "properties": {"b": {"type": "null"}},
        "allOf": [{"properties": {"a": {"type": "null"}}}],
        "required": ["z"],
    }
    in_order = '{"b": null, "a": null, "y": 1, "z": 2}'
    out_of_order = ['{"a": null, "b": null, "z": 2}', '{"z": 2, "b": null}']
    assert accepts(schema, in_order)
    assert accepts(schema, '{"a": null, "z": 1, "y": 2}')
    for text in out_of_order:
        assert not accepts(schema, text)
        assert accepts(schema, text, property_order="any")
    assert not accepts(schema, '{"a": null}', property_order="any")


def test_property_order_through_choices() -> None:
    schema = {
        "type": "object",
        "allOf": [
            {
                "oneOf": [
                    {"properties": {"x": {"const": 1}}, "required": ["x"]},
                    {"properties": {"y": {}}, "required": ["y"]},
                ]
            },
            {"properties": {"z": {}}, "required": ["z"]},
        ],
    }
    assert accepts(schema, '{"x": 1, "z": 2}')
    assert accepts(schema, '{"y": 1, "z": 2}')
    assert not accepts(schema, '{"z": 2, "x": 1}')


def test_formats() -> None:
    assert not accepts({"format": "date"}, '"2023-02-29"')
    assert accepts({"format": "date"}, '"2023-02-29"', formats="annotate")
    grammar = sm.Grammar.from_json_schema({"properties": {"a": {"format": "colour"}}})
    assert grammar.report is not None
    assert [(note.pointer, note.keyword) for note in grammar.report.annotations] == [
        ("#/properties/a", "format")
    ]


def test_equal_schemas_are_compiled_once() -> None:
    first = COMPILER.compile(sm.Grammar.from_json_schema(SCHEMA))
    assert COMPILER.compile(sm.Grammar.from_json_schema(dict(SCHEMA))) is first
