"""The message of a turn for the next request, and the ids that results of its calls are named by."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support.turn_cases import RENDERED, SEARCH, WEATHER

from stackmask import tools
from stackmask.grammar.turns.styles import STYLES

ARGUMENTS = {"city": "Rome", "days": 2}
# what the chat template of Mistral asks of an id, and what Kimi's and Cohere's write themselves
IDS = {"kimi": "functions\\.get_weather:0", "cohere": "0"}


@pytest.mark.parametrize("style", STYLES)
def test_calls_have_ids_in_the_form_of_their_style(style: str) -> None:
    turn = tools.parse(style, RENDERED[style], tools=[WEATHER])
    message = turn.message()
    [call] = message["tool_calls"]
    assert re.fullmatch(IDS.get(style, "[A-Za-z0-9]{9}"), call["id"])
    assert call["id"] == turn.calls[0].id
    assert (call["type"], call["function"]["name"]) == ("function", "get_weather")
    arguments = call["function"]["arguments"]
    as_json = style in ("deepseek_r1", "deepseek_v3_1")  # whose templates join them to text
    assert (json.loads(arguments) if as_json else arguments) == ARGUMENTS
    assert message["content"] == (None if as_json else "")
    assert message == turn.message()


def test_messages_as_the_interface_of_openai_has_them() -> None:
    text = f"<think>Hm.</think>Let me see: {RENDERED['qwen_3']}\n{RENDERED['qwen_3']}"
    turn = tools.parse("qwen_3", text, tools=[WEATHER])
    message = turn.message(as_json=True)
    assert message.pop("tool_calls") == [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": "get_weather", "arguments": json.dumps(ARGUMENTS)},
        }
        for call in turn.calls
    ]
    assert message == {"role": "assistant", "content": "Let me see: ", "reasoning_content": "Hm."}
    assert turn.calls[0].id != turn.calls[1].id
    assert tools.parse("qwen_3", "Hello").message() == {"role": "assistant", "content": "Hello"}


def test_events_and_messages_name_calls_alike() -> None:
    for style in ("kimi", "mistral", "qwen_3"):
        reader = tools.EventReader(style, [WEATHER, SEARCH])
        events: list[Any] = [event for char in RENDERED[style] for event in reader.feed(char)]
        events += reader.close()
        [started] = [event for event in events if isinstance(event, tools.CallStarted)]
        assert started.id == reader.turn.calls[0].id
