"""What the matcher accepts is read into arguments that the schema allows, whichever keywords decide what a text means."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest
from pydantic import BaseModel

import stackmask as sm
from stackmask import tools
from stackmask.grammar.turns.styles import STYLES

UNLABELLED = pytest.mark.parametrize("style", ["qwen_3_coder", "mimo", "glm_4_7", "minimax", "minimax_m3"])


def arguments_of(style: str, members: dict[str, str]) -> str:
    """Return arguments as a style writes them."""
    if style == "glm_4_7":
        return "".join(f"<arg_key>{k}</arg_key><arg_value>{v}</arg_value>" for k, v in members.items())
    if style == "minimax_m3":
        mark = "]<]minimax[>["
        return "".join(f"{mark}<{k}>{v}{mark}</{k}>" for k, v in members.items())
    name = '<parameter name="{}">' if style == "minimax" else "<parameter={}>"
    return "".join(f"{name.format(k)}{v}</parameter>" for k, v in members.items())


def call_of(style: str, members: dict[str, str]) -> str:
    """Return a turn that calls `f`."""
    made = STYLES[style]
    begin, end = made.calls[0]
    inner = begin.replace("{name}", "f") + arguments_of(style, members) + end
    return made.section[0] + inner + made.section[1]


def read(style: str, members: dict[str, str], schema: Any, accepted: bool = True) -> Any:
    """Return the arguments of a call that the grammar of a tool accepts."""
    tool = schema if callable(schema) else {"name": "f", "parameters": schema}
    text = call_of(style, members)
    made = tools.grammar(style, [tool], tool_choice="f", reasoning="off")
    assert made.accepts(text) == accepted
    return tools.parse(style, text, tools=[tool]).calls[0].arguments


def tagged(*values: tuple[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "type": "object",
            "properties": {"kind": {"const": kind}, "value": value},
            "required": ["kind", "value"],
            "additionalProperties": False,
        }
        for kind, value in values
    ]


TEXT_OR_NUMBER = tagged(("text", {"type": "string"}), ("number", {"type": "integer"}))
BOTH = {"kind": {"enum": ["text", "number"]}, "value": {"type": ["string", "integer"]}}
CLOSED = {
    "type": "object",
    "properties": BOTH,
    "required": ["kind", "value"],
    "additionalProperties": False,
}
IS_NUMBER = {"properties": {"kind": {"const": "number"}}}
AS_NUMBER = {"properties": {"value": {"type": "integer"}}}


@UNLABELLED
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "oneOf": TEXT_OR_NUMBER},
        {"type": "object", "anyOf": TEXT_OR_NUMBER},
        {**CLOSED, "if": IS_NUMBER, "then": AS_NUMBER},
        {**CLOSED, "not": {"properties": {"kind": {"const": "number"}, "value": {"type": "string"}}}},
        {**CLOSED, "dependentSchemas": {"kind": AS_NUMBER}},
        {
            "type": "object",
            "properties": {"kind": {}},
            "required": ["kind", "value"],
            "maxProperties": 2,
            "unevaluatedProperties": {"type": "integer"},
        },
    ],
)
def test_values_whose_meaning_other_values_decide(style: str, schema: Any) -> None:
    assert read(style, {"kind": "number", "value": "5"}, schema) == {"kind": "number", "value": 5}
    text = {"kind": "text", "value": "5"}
    if "dependentSchemas" not in schema and "unevaluatedProperties" not in schema:
        assert read(style, text, schema) == text


class Text(BaseModel):
    kind: Literal["text"]
    value: str


class Number(BaseModel):
    kind: Literal["number"]
    value: int


def f(thing: Text | Number, more: list[Number | Text]) -> None:
    """Take things."""


def test_unions_within_arguments() -> None:
    def thing(kind: str) -> str:
        return arguments_of("minimax_m3", {"kind": kind, "value": "5"})

    mark = "]<]minimax[>["
    more = "".join(f"{mark}<item>{thing(kind)}{mark}</item>" for kind in ("text", "number"))
    number, text = {"kind": "number", "value": 5}, {"kind": "text", "value": "5"}
    found = read("minimax_m3", {"thing": thing("number"), "more": more}, f)
    assert found == {"thing": number, "more": [text, number]}


def test_json_decides_what_a_string_means() -> None:
    pairs = tagged(("a", {"type": "string"}), ("b", {"type": "integer"}))
    for pair, inner in zip(pairs, ("string", "integer"), strict=True):
        pair["properties"]["kind"] = {"type": "object", "properties": {"x": {"type": inner}}}
        pair["properties"]["kind"]["required"] = ["x"]
    schema = {"type": "object", "oneOf": pairs}
    assert read("glm_4_7", {"kind": '{"x": 1}', "value": "5"}, schema)["value"] == 5
    assert read("glm_4_7", {"kind": '{"x": "1"}', "value": "5"}, schema)["value"] == "5"


DEFINITIONS = {"n": {"type": "integer"}, "a b": {"type": "integer"}, "sn": {"type": ["string", "integer"]}}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@UNLABELLED
@pytest.mark.parametrize(
    ("value", "around"),
    [
        ({"$ref": "#/$defs/sn", "type": "integer"}, {}),
        ({"$ref": "#/$defs/a%20b"}, {}),
        ({"$ref": "#/allOf/0/properties/b"}, {"allOf": [{"properties": {"b": {"type": "integer"}}}]}),
        ({"$ref": "http://x/y#/$defs/n"}, {"$id": "http://x/y"}),
        ({"$ref": "/n"}, {"$id": "http://x/y", "$defs": {"n": {"$id": "/n", "type": "integer"}}}),
        ({"$ref": "#foo"}, {"$defs": {"x": {"$anchor": "foo", "type": "integer"}}}),
        ({"$dynamicRef": "#foo"}, {"$defs": {"x": {"$dynamicAnchor": "foo", "type": "integer"}}}),
    ],
)
def test_references_of_every_kind(style: str, value: Any, around: Any) -> None:
    schema = {"type": "object", "$defs": DEFINITIONS, "properties": {"a": value}, "required": ["a"]}
    assert read(style, {"a": "7"}, {**schema, **around}) == {"a": 7}


def test_leading_items_of_older_drafts() -> None:
    items = {"items": [{"type": "integer"}, {"type": "string"}], "additionalItems": {"type": "boolean"}}
    schema = {"$schema": DRAFT_7, "type": "object", "properties": {"a": {"type": "array", **items}}}
    mark = "]<]minimax[>["
    written = "".join(f"{mark}<item>{item}{mark}</item>" for item in ("7", "7", "true"))
    assert read("minimax_m3", {"a": written}, schema) == {"a": [7, "7", True]}


def test_names_that_are_not_declared_leave_nothing_behind() -> None:
    open_ = {"additionalProperties": {"type": ["string", "integer"], "minLength": 1}}
    schema = {"type": "object", "allOf": [open_, {"patternProperties": {"^x": {"maxLength": 9}}}]}
    tool = tools.Tool("f", schema)
    for number in range(50):
        text = call_of("qwen_3_coder", {f"x{number}": "1", f"y{number}": "12345678901"})
        tools.parse("qwen_3_coder", text, tools=[tool])
    known = tool.argument_schema
    assert max(map(len, (known._meanings, known._judges))) < 10


EXCLUSIVE = {"type": "object", "properties": {"x": {"type": "number", "exclusiveMinimum": 0.9}}}


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("qwen_3", '<tool_call>\n{"name": "f", "arguments": {"x": 0.900000000000000002}}\n</tool_call>'),
        ("pythonic", "[f(x=0.900000000000000002)]"),
        (
            "glm_4_7",
            "<tool_call>f<arg_key>x</arg_key><arg_value>0.900000000000000002</arg_value></tool_call>",
        ),
    ],
)
def test_numbers_are_judged_as_they_are_written(style: str, text: str) -> None:
    tool = {"name": "f", "parameters": EXCLUSIVE}
    assert tools.grammar(style, [tool], reasoning="off").accepts(text)
    assert tools.parse(style, text, tools=[tool]).calls[0].arguments == {"x": 0.9}
    with pytest.raises(tools.TurnError, match="`x` is"):
        tools.parse(style, text.replace("0.9000", "0.8999"), tools=[tool])
    below = {"type": "object", "properties": {"x": {"type": "number", "exclusiveMaximum": -0.9}}}
    text = text.replace("0.9", "-0.9")
    assert tools.parse(style, text, tools=[{"name": "f", "parameters": below}]).calls


def test_schemas_that_are_not_enforced_exactly_are_judged_all_the_same() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": r"^(a)\1$"}, "b": {"type": "integer"}},
        "required": ["b"],
    }
    tool = {"name": "f", "parameters": schema}
    assert tools.parse("glm_4_7", call_of("glm_4_7", {"a": "aa", "b": "1"}), tools=[tool]).calls
    with pytest.raises(tools.TurnError, match="the argument `b` is needed"):
        tools.parse("glm_4_7", call_of("glm_4_7", {"a": "aa"}), tools=[tool])


def test_tools_that_have_read_arguments_are_copied() -> None:
    tool = tools.Tool("f", {"type": "object", "oneOf": TEXT_OR_NUMBER})
    text = call_of("glm_4_7", {"kind": "number", "value": "5"})
    first = tools.parse("glm_4_7", text, tools=[tool]).calls
    for again in (copy.deepcopy(tool.argument_schema), pickle.loads(pickle.dumps(tool.argument_schema))):
        assert again.refusal(first[0].arguments) == ""
        assert again.refusal({"kind": "number", "value": "5"})


def test_threads_that_read_arguments_of_one_tool() -> None:
    values: list[tuple[str, Any]] = [(f"k{i}", {"type": ("string", "integer")[i % 2]}) for i in range(12)]
    tool = tools.Tool("f", {"type": "object", "oneOf": tagged(*values)})

    def value(number: int) -> Any:
        text = call_of("glm_4_7", {"kind": f"k{number}", "value": "5"})
        return tools.parse("glm_4_7", text, tools=[tool]).calls[0].arguments["value"]

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(value, range(12))) == ["5", 5] * 6


def test_schemas_that_are_not_supported_say_nothing() -> None:
    tool = {"name": "f", "parameters": {"$schema": "http://unknown/x", "properties": {"a": {}}}}
    for _ in range(2):
        assert tools.parse("glm_4_7", call_of("glm_4_7", {"a": "5"}), tools=[tool]).calls[0].arguments


@pytest.mark.parametrize("value", [{"type": "strin"}, {"$ref": "#/nowhere"}, 5])
def test_what_is_no_schema_judges_nothing_and_is_reported(value: Any) -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"a": value}}}
    text = call_of("glm_4_7", {"a": "5"})
    for _ in range(2):
        assert tools.parse("glm_4_7", text, tools=[tool], check=False).calls[0].arguments
        with pytest.raises(sm.SchemaError, match=r"#/properties/a"):
            tools.parse("glm_4_7", text, tools=[tool])


def test_parts_that_have_no_value_allow_none() -> None:
    values = [{"type": "integer", "minimum": 5, "maximum": 4}, {"type": "string"}]
    schema = {"type": "object", "properties": {"a": {"anyOf": values}, "b": False}}
    assert read("glm_4_7", {"a": "5"}, schema) == {"a": "5"}
    for name in ("b", "a"):
        schema = {"type": "object", "properties": {name: {"enum": []}}}
        with pytest.raises(tools.TurnError, match=f"`{name}` is"):
            tools.parse(
                "glm_4_7", call_of("glm_4_7", {name: "5"}), tools=[{"name": "f", "parameters": schema}]
            )
