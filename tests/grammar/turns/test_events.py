"""Turns as events: nothing is lost or said twice, however the text is cut."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pydantic import BaseModel

import stackmask as sm
from stackmask import tools
from stackmask.grammar.turns.styles import STYLES

TOOLS: list[Any] = [
    {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 20},
                "days": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
                "where": {
                    "type": "object",
                    "properties": {"x": {"type": "number"}},
                    "additionalProperties": False,
                },
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    },
    {"name": "weather_tomorrow", "parameters": {"type": "object", "additionalProperties": False}},
]


def events_of(style: str, text: str, cuts: list[int]) -> list[tools.Event]:
    reader = tools.EventReader(style, TOOLS)
    found: list[tools.Event] = []
    for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        found += reader.feed(text[begin:end])
    return [*found, *reader.close()]


@pytest.mark.parametrize("style", STYLES)
def test_events_make_the_turn(style: str) -> None:
    rng = random.Random(style)
    counts = {"calls": 0, "early": 0}
    grammar = tools.grammar(style, TOOLS, tool_choice="required")
    for text in grammar.sample(12, seed=3) + tools.grammar(style, TOOLS).sample(4):
        turn = tools.parse(style, text, tools=TOOLS)
        each = list(range(1, len(text)))
        for cuts in ([], each, sorted(rng.sample(each, min(4, len(each))))):
            reasoning = content = ""
            calls: list[tools.Call] = []
            names: list[str] = []
            written: list[str] = []
            for event in events_of(style, text, cuts):
                match event:
                    case tools.ReasoningDelta(piece):
                        reasoning += piece
                    case tools.TextDelta(piece):
                        content += piece
                    case tools.CallStarted(index, name):
                        assert index == len(names) == len(calls)
                        names.append(name)
                        written.append("")
                    case tools.ArgumentsDelta(index, piece):
                        assert index == len(calls) == len(names) - 1 and piece
                        written[index] += piece
                        counts["early"] += 1
                    case tools.CallFinished(index, call):
                        assert index == len(calls) == len(names) - 1
                        calls.append(call)
            assert (reasoning, content, calls) == (turn.reasoning, turn.content, turn.calls)
            assert names == [call.name for call in calls]
            assert written == [call.written for call in calls]
            counts["calls"] += len(calls)
    assert counts["calls"] >= 30 and counts["early"] > counts["calls"]


def test_what_arrives_is_said_at_once() -> None:
    reader = tools.EventReader("qwen_3", TOOLS)
    assert reader.feed("Sure") == [tools.TextDelta("Sure")]
    assert reader.feed('<tool_call>\n{"name": "weather_to') == []
    assert reader.feed('morrow", "arguments": {') == [
        tools.CallStarted(0, "weather_tomorrow"),
        tools.ArgumentsDelta(0, "{"),
    ]
    (last,) = reader.feed("}")
    assert last == tools.ArgumentsDelta(0, "}")
    (finished,) = reader.feed("}\n</tool_call>")
    assert isinstance(finished, tools.CallFinished) and finished.call.written == "{}"
    assert reader.close() == [] and reader.turn.content == "Sure"


def test_names_are_said_when_they_cannot_go_on() -> None:
    reader = tools.EventReader("glm_4_7", TOOLS)
    assert reader.feed("<tool_call>weather") == []  # or weather_tomorrow
    assert reader.feed("<arg_key>") == [tools.CallStarted(0, "weather"), tools.ArgumentsDelta(0, "<arg_key>")]


class Place(BaseModel):
    city: str


def visit(place: Place, days: int = 1) -> None:
    """Go there."""


def test_profiles_of_arguments() -> None:
    exact = tools.grammar("qwen_3", [visit], reasoning="off")
    model = tools.grammar(
        "qwen_3", [visit], reasoning="off", profile="model", response_format={"type": "array"}
    )
    call = '<tool_call>\n{{"name": "visit", "arguments": {}}}\n</tool_call>'
    for arguments in ('{"place": {"city": "Rome"}, "days": 2}', '{\n  "place": {"city": "Rome"}\n}'):
        assert exact.accepts(call.format(arguments)) and model.accepts(call.format(arguments))
    for arguments in ('{"place"   : {"city": "Rome"}}', '{"place": {"city": "Rome", "x": 1}}'):
        assert exact.accepts(call.format(arguments)) and not model.accepts(call.format(arguments))
    assert model.accepts("[1, 2]") and not model.accepts("[1,   2]")
    assert "model profile" in str(model.report) and "model profile" not in str(exact.report)
    with pytest.raises(tools.ToolError, match="at /profile: 'plain' is not one of exact, model"):
        tools.grammar("qwen_3", [visit], profile="plain")


def test_a_grammar_may_be_the_answer() -> None:
    answer = sm.Grammar.of(["yes", "no"])
    made = tools.grammar("qwen_3", TOOLS, response_format=answer, reasoning="off")
    assert made.accepts("yes") and not made.accepts("maybe")
    assert made.accepts('<tool_call>\n{"name": "weather_tomorrow", "arguments": {}}\n</tool_call>')
