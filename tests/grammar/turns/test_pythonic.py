"""Calls as Python writes them: the grammar, and what is read back."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from support.campaign import mostly_campaign

import stackmask as sm
from stackmask import tools

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "hot": {"type": ["boolean", "null"]},
        "any": {},
        "word": {"type": "string", "pattern": "^true$"},
        "one": {"enum": [True, "true", None, [True, {"a": False}], 'it\'s \n "x" \u20ac\U0001f600']},
        "set": {"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": True},
    },
    "required": ["city"],
}
FIND = tools.Tool("find", SCHEMA)
STOP = tools.Tool("stop")


def call(text: str) -> dict[str, Any]:
    [found] = tools.parse("pythonic", f"[find({text})]", tools=[FIND], check=False).calls
    return found.arguments


def test_values_are_literals_of_python() -> None:
    made = tools.grammar("pythonic", [FIND, STOP], reasoning="off")
    for text in (
        'city="x", hot=None',
        'city="x", hot=True, any={"a": [None, 1.5]}',
        'city="x", word="true", one=[True, {"a": False}]',
        'city="x", set=["a", 1]',
    ):
        assert made.accepts(f"[find({text})]"), text
    for text in (
        "",
        'hot=True, city="x"',
        'city="x", hot=true',
        'city="x", word="True"',
        'city="x", set=[1, 1]',
        "x=1",
    ):
        assert not made.accepts(f"[find({text})]"), text
    assert made.accepts('[find(city="a)]"), stop(), stop(x=1, y="z")]')
    assert made.accepts("Is [this] a call?")
    assert not made.accepts("[this] is no call")
    assert made.report is not None
    assert "arguments without a declared name" in str(made.report.narrowed)


def test_python_reads_the_same_values() -> None:
    made = tools.grammar("pythonic", [FIND], tool_choice="required", reasoning="off")
    read = 0
    for text in made.sample(60, seed=3):
        turn = tools.parse("pythonic", text, tools=[FIND])
        tree = ast.parse(text, mode="eval").body
        assert isinstance(tree, ast.List)
        calls = [node for node in tree.elts if isinstance(node, ast.Call)]
        values = [{k.arg: ast.literal_eval(k.value) for k in node.keywords} for node in calls]
        assert [found.arguments for found in turn.calls] == values
        read += len(values)
    assert read >= 60


def test_what_models_write_is_read_loosely() -> None:
    assert call("city='it\\'s', any=(1, 2),hot = null") == {"city": "it's", "any": (1, 2), "hot": None}
    assert call('any={"a": -1e3, "b": [True, false]}') == {"any": {"a": -1000.0, "b": [True, False]}}
    turn = tools.parse("pythonic", ' [ stop( ) ,\nfind( city = "]" ) ] ', tools=[FIND, STOP])
    assert [found.name for found in turn.calls] == ["stop", "find"]
    assert tools.parse("pythonic", "Take [1] or f(x)").content == "Take [1] or f(x)"


@pytest.mark.parametrize(
    "text", ["a=b", "a=f()", "a=[1", "a=1 +", 'a="\\q"', "a=" + "[" * 95 + "]" * 95, "a"]
)
def test_what_is_no_literal(text: str) -> None:
    with pytest.raises(tools.TurnError):
        call(text)


@pytest.mark.parametrize("low", mostly_campaign([1, 0, 2], 1))
@pytest.mark.parametrize("high", mostly_campaign([2, 3, None], 2))
def test_arguments_are_counted(low: int, high: int | None) -> None:
    schema = {"type": "object", "minProperties": low} | ({} if high is None else {"maxProperties": high})
    named = schema | {"properties": {name: {"type": "null"} for name in "abc"}, "additionalProperties": False}
    for parameters, names in ((schema, ["b", "a", "ab", "c"]), (named, ["a", "b", "c"])):
        tool = tools.Tool("f", parameters)
        grammar = tools.grammar("pythonic", [tool], tool_choice="required", reasoning="off")
        for count in range(len(names) + 1):
            written = [f"{name}=None" for name in names[:count]]
            fits = low <= count and (high is None or count <= high)
            assert grammar.accepts(f"[f({', '.join(written)})]") == fits
            twice = grammar.accepts(f"[f({', '.join(written + written[:1])})]")
            assert not twice or (parameters is schema and low == 0 and high is None) or not written
        for text in grammar.sample(10, seed=1):
            assert low <= len(tools.parse("pythonic", text, tools=[tool]).calls[0].arguments) <= (high or 99)


def test_what_python_cannot_name() -> None:
    with pytest.raises(tools.ToolError, match="`get-it` is not the name of a Python function"):
        tools.grammar("pythonic", [tools.Tool("get-it")]).normalize()
    for schema, message in (
        ({"type": "object", "properties": {"class": {}}}, "'class' cannot be the name of an argument"),
        (
            {"type": "object", "properties": {"a": {"items": {}, "uniqueItems": True}}},
            "distinct items other than",
        ),
    ):
        with pytest.raises(sm.SchemaError, match=message):
            tools.grammar("pythonic", [tools.Tool("f", schema)]).normalize()
