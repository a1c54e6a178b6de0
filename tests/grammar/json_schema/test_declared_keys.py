"""Objects of Python types in the model profile: no keys but those that are declared."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import Annotated, Any, Literal

import pytest

pytest.importorskip("pydantic", reason="pydantic is not installed")

from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter, WithJsonSchema
from pydantic.dataclasses import dataclass

import stackmask as sm
from stackmask.grammar.json_schema.document.declared_keys import close_objects, mark_object
from stackmask.grammar.json_schema.document.typed_dicts import readable_type
from stackmask.grammar.json_schema.frontend import EXTRA_KEYS


class Point(BaseModel):
    x: int
    y: int = 0


class Shape(BaseModel):
    corners: list[Point]
    around: dict[str, Point] = {}
    middle: Point | None = None


class Ring(BaseModel):
    next: Ring | None = None


class Open(BaseModel, extra="allow"):
    x: int


class Circle(BaseModel):
    kind: Literal["circle"] = "circle"
    radius: int = 0


class Square(BaseModel):
    kind: Literal["square"] = "square"
    side: int = 0


Tagged = Annotated[Circle | Square, Field(discriminator="kind")]


class Typed(typing.TypedDict):
    x: int
    note: typing.NotRequired[str]


class Nested(Typed, total=False):
    inner: list[Typed]


@dataclasses.dataclass
class Plain:
    x: int
    inner: Point | None = None


@dataclass
class Checked:
    x: int


class Asking(BaseModel):
    """Its schema asks for a key that it does not declare."""

    model_config = ConfigDict(json_schema_extra={"required": ["x", "z"]})
    x: int


def accepted(kind: Any, text: str, **options: Any) -> bool:
    return sm.Grammar.of(kind, **options).accepts(text)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Point, '{"x": 1, "y": 2}', '{"x": 1, "z": 2}'),
        (Shape, '{"corners": [{"x": 1}], "around": {"z": {"x": 1}}}', '{"corners": [{"x": 1, "z": 1}]}'),
        (Shape, '{"corners": [], "middle": null}', '{"corners": [], "around": {"z": {"x": 1, "z": 1}}}'),
        (list[Point], '[{"x": 1}]', '[{"x": 1, "z": 1}]'),
        (Point | Plain, '{"x": 1}', '{"x": 1, "z": 1}'),
        (Ring, '{"next": {"next": null}}', '{"next": {"next": null, "z": 1}}'),
        (Tagged, '{"kind": "circle", "radius": 1}', '{"kind": "circle", "side": 1}'),
        (Plain, '{"x": 1, "inner": {"x": 1}}', '{"x": 1, "inner": {"x": 1, "z": 1}}'),
        (Checked, '{"x": 1}', '{"x": 1, "z": 1}'),
        (Typed, '{"x": 1, "note": "a"}', '{"x": 1, "z": 1}'),
        (Nested | None, '{"x": 1, "inner": [{"x": 1}]}', '{"x": 1, "inner": [{"x": 1, "z": 1}]}'),
        (RootModel[list[Point]], '[{"x": 1}]', '[{"x": 1, "z": 1}]'),
    ],
    ids=str,
)
def test_extra_keys_are_left_out_and_that_is_said(kind: Any, good: str, bad: str) -> None:
    assert accepted(kind, good) and not accepted(kind, bad)
    assert accepted(kind, bad, profile="exact")
    TypeAdapter(readable_type(kind)).validate_json(bad)  # it is valid: the profile narrows
    report = sm.Grammar.of(kind).report
    assert report is not None and EXTRA_KEYS in str(report)
    assert EXTRA_KEYS not in str(sm.Grammar.of(kind, profile="exact").report)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Open, '{"x": 1, "z": 1}'),
        (dict[str, int], '{"z": 1}'),
        (Asking, '{"x": 1, "z": 1}'),
        (Annotated[dict[str, Any], WithJsonSchema({"type": "object", "properties": {"x": {}}})], '{"z": 1}'),
        ({"type": "object", "properties": {"x": {}}}, '{"z": 1}'),
    ],
    ids=str,
)
def test_what_says_otherwise_stays_open(kind: Any, text: str) -> None:
    assert accepted(kind, text)
    assert EXTRA_KEYS not in str(sm.Grammar.of(kind).report)


def test_nothing_is_let_in_that_was_not() -> None:
    for text in ('{"radius": 1}', "{}", '{"kind": "square", "radius": 1}'):
        assert not accepted(Tagged, text)
    assert not accepted(Tagged, '{"radius": 1}', profile="exact")  # pydantic wants the tag


POINT = {"$ref": "#/$defs/Point"}


@pytest.mark.parametrize(
    ("places", "closed"),
    [
        ({"properties": {"a": POINT}, "items": POINT}, True),
        ({"anyOf": [POINT, {"type": "null"}], "title": "T", "default": {"$ref": 3}}, True),
        ({"allOf": [POINT], "description": "alone"}, True),
        ({"allOf": [POINT, {"required": ["z"]}]}, False),
        ({**POINT, "required": ["z"]}, False),
        ({"not": POINT}, False),
        ({"properties": {"a": POINT, "b": {"not": {"items": POINT}}}}, False),
        ({"oneOf": [POINT, {"type": "null"}]}, False),
        ({"oneOf": [POINT], "discriminator": {"propertyName": "x"}}, False),
        ({"oneOf": [POINT], "discriminator": {"propertyName": "x"}, "required": ["x"]}, True),
        ({"items": POINT, "uniqueItems": True}, False),
        ({"if": POINT, "then": False}, False),
        ({"properties": {"a": POINT}, "minItems": 1, "contains": POINT}, False),
        ({"const": POINT}, False),
    ],
    ids=str,
)
def test_places_where_objects_are_closed(places: dict[str, Any], closed: bool) -> None:
    point = mark_object({"type": "object", "properties": {"x": {}}})
    schema = {**places, "$defs": {"Point": point}}
    assert close_objects(schema) is closed
    assert point.get("additionalProperties", True) is not closed


def test_objects_that_hold_themselves() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "both": {"not": {"items": {}}}},
    }
    assert close_objects(mark_object(node)) and node["additionalProperties"] is False
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "both": {"not": {"items": {"$ref": "#"}}}},
    }
    assert not close_objects(mark_object(node)) and "additionalProperties" not in node
    counted = {"type": "object", "properties": {"x": {}}, "minProperties": 2}
    assert not close_objects(mark_object(counted))


def test_what_types_write_is_in() -> None:
    shape = Shape(corners=[Point(x=1), Point(x=2, y=3)], around={"z": Point(x=0)}, middle=None)
    for text in (shape.model_dump_json(), shape.model_dump_json(indent=2), json.dumps(shape.model_dump())):
        assert accepted(Shape, text)
    for text in sm.Grammar.of(Shape).sample(20, seed=1):
        assert set(Shape.model_validate_json(text).model_dump()) >= set(json.loads(text))


def test_the_option_alone() -> None:
    grammar = sm.Grammar.from_json_schema(Point, extra_keys="none")
    assert grammar.accepts('{"x"  :1}') and not grammar.accepts('{"x":1,"z":1}')
    assert sm.Grammar.from_json_schema(Point, profile="model", extra_keys="any").accepts('{"x":1,"z":1}')
    with pytest.raises(sm.SchemaError, match="is not one of any, none"):
        sm.Grammar.from_json_schema(Point, extra_keys="some")
    with pytest.raises(sm.SchemaError, match="`additionalProperties: false`"):
        sm.Grammar.from_json_schema({}, extra_keys="none")


def test_typed_dicts_of_typing_are_read() -> None:
    grammar = sm.Grammar.of(Nested)
    assert grammar.output is not None
    assert grammar.output.value('{"x": 1, "inner": []}') == {"x": 1, "inner": []}
    assert not accepted(Nested, '{"inner": []}')
    assert accepted(dict[str, Annotated[Typed, Field(title="t")]], '{"a": {"x": 1}}')
    assert sm.Grammar.of(list[Typed]).output.value('[{"x": 1}]') == [{"x": 1}]  # type: ignore[union-attr]
