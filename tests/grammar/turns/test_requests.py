"""A whole turn as the structural tag of a request to a server."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

import stackmask as sm
from stackmask.grammar.turns.frontend import turn_of_tag

ANSWER = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'


def get_weather(city: Literal["Rome", "Oslo"], days: Literal[1, 2] = 1) -> str:
    """Tell the weather."""
    return f"{city} {days}"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tool_choice": "required", "reasoning": "off", "parallel_tool_calls": False},
        {"response_format": ANSWER, "reasoning": "on", "profile": "exact"},
        {"strict": False, "opened": True, "parallel_tool_calls": None},
        {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}, "parallel": False},
    ],
    ids=str,
)
def test_it_is_the_grammar_of_the_turn(options: dict[str, Any]) -> None:
    tag = sm.tools.structural_tag("qwen_3", [get_weather], **options)
    sent = turn_of_tag(json.loads(json.dumps(tag)))
    here = sm.tools.grammar("qwen_3", [get_weather], **{"profile": "model", **options})
    for names in ((), ("<think>", "</think>", "<tool_call>", "</tool_call>")):
        assert sent.for_vocabulary(names).rules == here.for_vocabulary(names).rules
    assert str(sent.report) == str(here.report)


def test_it_takes_a_whole_turn() -> None:
    tag = sm.tools.structural_tag("qwen_3", [get_weather], response_format=ANSWER)
    assert set(tag) == {"type", "format"} and tag == json.loads(json.dumps(tag))
    grammar = turn_of_tag(tag)
    assert grammar.accepts(f"<think>Ask.</think>\n\n{CALL}")
    assert grammar.accepts('<think>Yes.</think>\n\n{"summary": "sun"}')
    assert not grammar.accepts(CALL.replace("Rome", "Bonn"))


def test_what_cannot_be_sent() -> None:
    for text in (sm.tools.Tool("say", grammar=sm.text()), {"type": "custom", "custom": {"name": "say"}}):
        with pytest.raises(sm.tools.ToolError, match=r"^at /tools/0: its argument is text"):
            sm.tools.structural_tag("gpt_oss", [text])
    with pytest.raises(sm.tools.ToolError, match=r"^at /response_format: give a JSON Schema"):
        sm.tools.structural_tag("qwen_3", response_format=sm.text())
    with pytest.raises(sm.tools.ToolError, match=r"^at /style: a server knows styles by name, not ToolStyle"):
        sm.tools.structural_tag(sm.tools.style_of("qwen_3"))  # type: ignore[arg-type]
    with pytest.raises(sm.tools.ToolError, match="no style `qwen_33`; did you mean"):
        sm.tools.structural_tag("qwen_33")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({}, "at /format: no `style`"),
        ({"style": "qwen_3", "tool": []}, "at /format/tool: a turn has none; did you mean `tools`"),
        ({"style": 3}, "at /style: a style is a name"),
        ({"style": "qwen_3", "tools": {"name": "a"}}, "at /tools: a list of tools is needed"),
        ({"style": "qwen_3", "tools": 5}, "at /tools: a list of tools is needed"),
        ({"style": "qwen_3", "tools": [5]}, "at /tools/0: a tool is a dict"),
        ({"style": "qwen_3", "profile": "fast"}, "at /profile: 'fast' is not one of"),
        ({"style": "qwen_3", "parallel": "no"}, "at /parallel: true or false"),
    ],
)
def test_bad_requests(said: dict[str, Any], problem: str) -> None:
    tag = {"type": "structural_tag", "format": {"type": "stackmask_turn", **said}}
    with pytest.raises(sm.StackmaskError, match=problem):
        turn_of_tag(tag)


def test_limits_hold() -> None:
    tag = sm.tools.structural_tag("qwen_3", [get_weather], response_format=ANSWER, limits=sm.Limits())
    assert "limits" not in tag["format"]
    with pytest.raises(sm.StackmaskError, match="max_work"):
        turn_of_tag(tag, limits=sm.Limits(max_work=1)).normalize()
