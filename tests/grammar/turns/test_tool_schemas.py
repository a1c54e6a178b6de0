"""What cannot be written or read of the schema of a tool is an error with its place, and what is left out is noted."""

from __future__ import annotations

from typing import Any

import pytest

import stackmask as sm
from stackmask import tools

MARKED = ["qwen_3_coder", "mimo", "glm_4_7", "minimax", "minimax_m3", "deepseek_v3_2", "cohere"]


def grammar_of(style: str, schema: Any, **options: Any) -> sm.Grammar:
    tool = {"name": "f", "parameters": schema}
    return tools.grammar(style, [{"name": "other"}, tool], tool_choice="f", reasoning="off", **options)


@pytest.mark.parametrize("style", [*MARKED, "pythonic"])
@pytest.mark.parametrize("name", ["a>b", "a<b", "/a"])
def test_names_that_could_not_be_read_back(style: str, name: str) -> None:
    schema = {"type": "object", "properties": {"a": {}, name: {}}}
    with pytest.raises(sm.UnsupportedSchemaError, match="cannot be the name of an argument") as raised:
        grammar_of(style, schema)
    assert raised.value.pointer == f"#/properties/{name.replace('/', '~1')}"
    assert str(raised.value).startswith("at /tools/1: the schema of `f`: ")
    inside = {"type": "object", "properties": {"a": {"type": "object", "properties": {name: {}}}}}
    if style not in ("minimax_m3", "cohere"):  # within JSON and Python's dicts any name will do
        assert grammar_of(style, inside).report is not None


def test_names_that_entities_write() -> None:
    schema = {"type": "object", "properties": {"a": {}, "a>b": {"type": "string"}}, "required": ["a>b"]}
    text = (
        '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="a&gt;b" type="string"<|sep|>'
        "x<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
    )
    turn = tools.parse("kimi_k3", text, tools=[{"name": "f", "parameters": schema}])
    assert turn.calls[0].arguments == {"a>b": "x"}
    with pytest.raises(sm.UnsupportedSchemaError, match="cannot be the name"):
        grammar_of("kimi_k3", {"type": "object", "properties": {"/a": {}}})


@pytest.mark.parametrize("style", ["qwen_3", "qwen_3_coder", "pythonic"])
def test_keywords_without_effect_are_noted(style: str) -> None:
    inner = {"type": "string", "minLenght": 3, "nullable": True, "format": "foo"}
    found = grammar_of(style, {"type": "object", "additionalProperites": False, "properties": {"a": inner}})
    assert found.report is not None
    unknown = [(note.pointer, note.keyword) for note in found.report.unknown]
    assert unknown == [
        ("#/tools/1", "additionalProperites"),
        ("#/tools/1/properties/a", "minLenght"),
        ("#/tools/1/properties/a", "nullable"),
    ]
    assert [(note.pointer, note.keyword) for note in found.report.annotations] == [
        ("#/tools/1/properties/a", "format")
    ]
    assert len(found.warnings) == 3


def test_words_that_hold_a_marker() -> None:
    def schema(value: Any) -> Any:
        return {"type": "object", "properties": {"a": value}, "required": ["a"]}

    for value in ({"enum": ["</parameter>", "x"]}, {"enum": ["</parameter>", 1]}):
        found = grammar_of("qwen_3_coder", schema(value))
        assert found.report is not None
        [note] = found.report.narrowed
        assert (note.pointer, note.keyword) == ("#/tools/1/properties/a", "enum")
        assert '"</parameter>" is left out' in note.reason
    for value in ({"const": "</parameter>"}, {"enum": ["</parameter>", "a</parameter>"]}):
        with pytest.raises(sm.UnsupportedSchemaError, match="no value can be written without `</") as raised:
            grammar_of("qwen_3_coder", schema(value))
        assert raised.value.pointer == "#/properties/a"


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"minProperties": 3, "properties": {"a": {}}, "additionalProperties": False}, "clash"),
        ({"required": ["b"], "additionalProperties": False}, "`required` names `b`, which"),
        ({"required": ["b"], "properties": {"b": {"type": "integer", "minimum": 5, "maximum": 3}}}, "clash"),
    ],
)
def test_schemas_without_arguments_have_one_error(schema: Any, reason: str) -> None:
    errors = set()
    for style in ("qwen_3", "pythonic", *MARKED):
        with pytest.raises(sm.UnsatisfiableSchemaError, match=reason) as raised:
            grammar_of(style, {"type": "object", **schema})
        errors.add(str(raised.value))
    assert len(errors) == 1


def test_keywords_are_no_names_of_arguments_in_python() -> None:
    found = grammar_of("pythonic", {"type": "object"})
    for name, accepted in (("class", False), ("None", False), ("clas", True), ("classes", True)):
        assert found.accepts(f"[f({name}=1)]") == accepted
    assert found.report is not None
    assert any("may come twice" in note.reason for note in found.report.narrowed)


def test_objects_that_are_written_as_arrays() -> None:
    array = {"type": "array", "items": {"type": "string"}, "minItems": 2}
    thing = {"type": "object", "properties": {"item": {"type": "integer"}}, "additionalProperties": False}
    schema = {"type": "object", "properties": {"a": {"anyOf": [array, thing]}}}
    with pytest.raises(sm.UnsupportedSchemaError, match="written as an array is") as raised:
        grammar_of("minimax_m3", schema)
    assert raised.value.pointer == "#/properties/a/anyOf/1/properties/item"
    assert grammar_of("minimax_m3", {"type": "object", "properties": {"a": thing}}).report is not None
    assert grammar_of("cohere", schema).report is not None
    del thing["properties"]
    thing["additionalProperties"] = {"type": "integer"}
    report = grammar_of("minimax_m3", {**schema, "additionalProperties": False}).report
    assert report is not None
    (note,) = report.narrowed
    assert note.pointer == "#/tools/1/properties/a"
    assert note.reason.startswith("an object with `item` is left out")
