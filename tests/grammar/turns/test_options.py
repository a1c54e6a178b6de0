"""Names that other interfaces have for styles and options, and OpenAI's ``strict`` in the model profile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.turn_cases import RENDERED, SEARCH, WEATHER

import stackmask as sm
from stackmask import tools
from stackmask.grammar.turns.styles import STYLES


def written(name: str, arguments: Any) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


def takes(*texts: str, style: str = "qwen_3", offered: Any = (WEATHER, SEARCH), **options: Any) -> list[bool]:
    made = tools.grammar(style, offered, reasoning="off", **options)
    return [made.accepts(text) for text in texts]


WEATHER_CALL, SEARCH_CALL = written("get_weather", {"city": "Rome"}), written("search", {"q": "a"})


def test_a_tool_is_chosen_by_its_name() -> None:
    assert takes(SEARCH_CALL, WEATHER_CALL, "Hi", tool_choice="search") == [True, False, False]
    assert takes(SEARCH_CALL, WEATHER_CALL, "Hi", tool_choice="any") == [True, True, False]
    auto = {"name": "auto", "parameters": {"type": "object"}}  # the words of the interface come first
    assert takes("Hi", offered=[auto], tool_choice="auto") == [True]
    with pytest.raises(tools.ToolError, match=r"/tool_choice: 'serch' is not one .*; did you mean `search`"):
        tools.grammar("qwen_3", [WEATHER, SEARCH], tool_choice="serch")
    with pytest.raises(tools.ToolError, match="a call is required, and there are no tools"):
        tools.grammar("qwen_3", [], tool_choice="any")


def test_the_name_of_openai_for_several_calls() -> None:
    two = f"{SEARCH_CALL}\n{WEATHER_CALL}"
    assert takes(two, tool_choice="required") == [True]
    assert takes(two, SEARCH_CALL, tool_choice="required", parallel_tool_calls=False) == [False, True]
    with pytest.raises(tools.ToolError, match="/parallel"):
        tools.grammar("qwen_3", [], parallel_tool_calls=1)  # type: ignore[arg-type]


def test_styles_have_other_names() -> None:
    for name in ("gpt_oss", "gpt-oss", "openai", "OpenAI"):
        assert tools.style_of(name) is STYLES["harmony"]
    assert tools.style_of("Qwen-3-Coder") is STYLES["qwen_3_coder"]
    listed = "there are deepseek_r1, deepseek_v3_1, deepseek_v3_2, deepseek_v4$"
    with pytest.raises(tools.ToolError, match=listed):
        tools.style_of("deepseek")
    with pytest.raises(tools.ToolError, match="is a style of the package"):
        tools.register("openai", STYLES["harmony"])


def test_llama_thinks_only_where_it_is_asked_to() -> None:
    thought = f"<think>Hm.</think>{RENDERED['llama']}"
    assert not tools.grammar("llama", [WEATHER]).accepts(thought)
    assert tools.grammar("llama", [WEATHER], reasoning="on").accepts(thought)
    assert tools.grammar("llama", [WEATHER]).accepts(RENDERED["llama"])
    opened = tools.grammar("llama", [WEATHER], opened=True)
    assert opened.accepts(thought.removeprefix("<think>")) and not opened.accepts(RENDERED["llama"])


PLACE = {"type": "object", "properties": {"x": {"type": "integer"}}}
STRICT: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "go",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"to": {"$ref": "#/$defs/Place"}, "by": {"type": "array", "items": PLACE}},
            "$defs": {"Place": PLACE},
        },
    },
}


def test_strict_tools_are_closed_in_the_model_profile() -> None:
    declared = [written("go", {"to": {"x": 1}, "by": [{"x": 2}]}), written("go", {})]
    others = [written("go", {"z": 1}), written("go", {"to": {"z": 1}}), written("go", {"by": [{"z": 1}]})]
    before = json.dumps(STRICT)
    options: dict[str, Any] = {"offered": [STRICT], "tool_choice": "required"}
    assert takes(*declared, *others, **options) == [True] * 5
    assert takes(*declared, *others, profile="model", **options) == [True, True, False, False, False]
    assert json.dumps(STRICT) == before
    made = tools.grammar("qwen_3", [SEARCH, STRICT], profile="model")
    assert made.report is not None
    [note] = [note for note in made.report.narrowed if note.keyword == "strict"]
    assert (note.pointer, note.reason) == ("#/tools/1", "objects have no members but the declared ones")
    exact = tools.grammar("qwen_3", [SEARCH, STRICT])
    assert exact.report is not None and "strict" not in [note.keyword for note in exact.report.narrowed]
    loose = tools.Tool("go", STRICT["function"]["parameters"])
    assert takes(others[0], offered=[loose], profile="model") == [True]
    assert takes(others[0], offered=[loose], profile="model", strict=True) == [False]


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": {"a": {"not": PLACE}}},
        {"properties": {"a": {"oneOf": [PLACE, {"properties": {"y": {}}}]}}},
        {"properties": {"a": {"$ref": "#here"}}, "$defs": {"A": {**PLACE, "$anchor": "here"}}},
        {"properties": {"a": {"allOf": [PLACE, {"properties": {"y": {}}}]}}},
        {"properties": {"a": {"$id": "other", **PLACE}}},
    ],
)
def test_parts_that_could_grow_by_it_stay_open(parameters: Any) -> None:
    tool = {"name": "go", "strict": True, "parameters": parameters}
    texts = [written("go", {"a": value}) for value in ({"x": 1}, {"x": 1, "z": 2}, {"z": 2}, {"x": "s"})]
    exact, model = (takes(*texts, offered=[tool], profile=profile) for profile in ("exact", "model"))
    assert exact == model  # those with undeclared keys too


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": 3},
        {"properties": {}, "required": 5},
        {"properties": {"a": 1}, "required": [["a"]]},
        {"properties": {"a": {"oneOf": 3, "discriminator": 4}}},
        {"properties": {"a": {"allOf": 3}}},
        {"properties": {"a": {"$ref": 3}}},
        {"properties": {"a": {"$ref": "#/b"}}},
        "[1]",
        3,
    ],
)
def test_schemas_that_are_none_are_refused_as_before(parameters: Any) -> None:
    tool = {"name": "go", "strict": True, "parameters": parameters}
    with pytest.raises(sm.StackmaskError, match="/tools/0"):
        tools.grammar("qwen_3", [tool], profile="model").normalize()
