"""Turns with tools and reasoning: ``generate(tools=…)``, ``stream(tools=…)``."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel

import stackmask as sm
from stackmask import tools
from stackmask.runtime.generation.errors import GenerationError

CHAT = [{"role": "user", "content": "How is it?"}]
# markers that are special tokens of the tiny model; the last one is a stop token, as in harmony
SPECIAL = tools.ToolStyle((("<call>{name} ", "<eos>"),), trigger="<call>", thinking=("[", "]"))


def ask(place: Literal["Rome", "Oslo"], days: Literal[1, 2] = 1) -> str:
    """Tell the weather."""
    return f"{place} {days}"


class Answer(BaseModel):
    ok: bool


def test_a_call_is_read_and_run(model: Any, chatting: Any) -> None:
    (result,) = sm.generate(
        model,
        chatting,
        CHAT,
        tools=[ask],
        tool_choice="required",
        parallel=False,
        reasoning="off",
        max_new_tokens=200,
    )
    assert result.finished, result.text
    (call,) = result.calls
    assert call.name == "ask"
    assert call.run() == f"{call.arguments['place']} {call.arguments.get('days', 1)}"
    assert json.loads(call.written) == call.arguments
    assert result.parsed is None and "calls tools" in result.parse_error
    assert tools.parse("qwen_3", result.text).calls == list(result.calls)


def test_the_answer_is_in_a_type_and_reasoning_is_apart(model: Any, chatting: Any) -> None:
    for seed in range(3):
        (result,) = sm.generate(
            model,
            chatting,
            CHAT,
            Answer,
            tools=[ask],
            tool_choice="none",
            reasoning="off",
            max_new_tokens=64,
            seed=seed,
        )
        assert result.finished and isinstance(result.parsed, Answer)
        assert result.content == result.text and result.reasoning == "" and result.calls == ()
    thought = sm.Grammar.of(["yes", "no"])
    (result,) = sm.generate(
        model,
        chatting,
        CHAT,
        thought,
        tools=[],
        reasoning="on",
        max_new_tokens=400,
        do_sample=True,
        seed=5,
        logits_processor=[Prefer(chatting, "</think>")],
    )
    assert result.finished, result.text
    assert (
        result.text.startswith("<think>")
        and result.reasoning == result.text[7 : result.text.index("</think>")]
    )
    assert result.parsed in ("yes", "no") and result.content.strip() == result.parsed


class Prefer:
    """Make the next character of a text the likeliest one."""

    def __init__(self, tokenizer: Any, text: str) -> None:
        self.ids = [tokenizer.convert_tokens_to_ids(each) for each in text]
        self.written: list[int] | None = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        row = input_ids[0].tolist()
        done = next((n for n in range(len(self.ids) - 1, 0, -1) if row[-n:] == self.ids[:n]), 0)
        scores = scores.clone()
        scores[:, self.ids[done]] += 100
        return scores


def test_what_the_prompt_has_begun_counts(model: Any, chatting: Any) -> None:
    prefer = [Prefer(chatting, "</think>")]
    (result,) = sm.generate(
        model,
        chatting,
        CHAT,
        ["yes"],
        tools=[ask],
        tool_choice="none",
        chat_options={"opened": True},
        logits_processor=prefer,
        max_new_tokens=60,
    )
    assert result.text.startswith("</think>") and result.parsed == "yes"
    (result,) = sm.generate(
        model, chatting, "Think. <think>\n", ["yes"], style="qwen_3", logits_processor=prefer
    )
    assert result.parsed == "yes" and result.reasoning == ""
    (result,) = sm.generate(model, chatting, "<think>so</think>\n\n", ["yes"], style="qwen_3")
    assert result.text == "yes"
    with pytest.raises(
        GenerationError, match=r"reasoning is 'off', but the prompt ends with .*opened the reasoning"
    ):
        sm.generate(
            model,
            chatting,
            CHAT,
            tools=[ask],
            reasoning="off",
            chat_options={"opened": 1, "enable_thinking": True},
        )
    with pytest.raises(GenerationError, match="closed the reasoning"):
        sm.generate(model, chatting, "<think></think>", ["a"], style="qwen_3", reasoning="on")


def test_templates_get_tools_and_switches(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    def template(messages: Any, **options: Any) -> str:
        seen.append(options)
        return "p"

    monkeypatch.setattr(tokenizer, "apply_chat_template", template, raising=False)
    given: dict[str, Any] = {"style": "qwen_3", "max_new_tokens": 1}
    sm.generate(model, tokenizer, CHAT, tools=[ask], reasoning="on", **given)
    sm.generate(model, tokenizer, CHAT, tools=[ask], chat_options={"tools": "mine"}, **given)
    sm.generate(model, tokenizer, CHAT, tools=[ask], tool_choice="none", reasoning="off", **given)
    assert seen[0]["tools"] == [tools.Tool.of(ask).as_dict()]
    assert seen[0]["enable_thinking"] is seen[0]["thinking"] is True
    assert seen[1]["tools"] == "mine" and "thinking" not in seen[1]
    assert "tools" not in seen[2] and seen[2]["enable_thinking"] is False


@pytest.mark.parametrize("jump", ["canonical", "off"])
def test_markers_may_be_special_tokens_and_stop_tokens(model: Any, tokenizer: Any, jump: str) -> None:
    pieces: list[str] = []
    (result,) = sm.generate(
        model, tokenizer, "p", tools=[ask], tool_choice="required", reasoning="off", style=SPECIAL, max_new_tokens=200,
        jump=jump, parallel=False, on_text=lambda _, piece: pieces.append(piece),
        logits_processor=[Prefer(tokenizer, '{"place":"Oslo"}')],
    )  # fmt: skip
    assert result.finished, result.text
    assert result.text == "".join(pieces)
    assert result.text.startswith("<call>ask {") and result.text.endswith("}<eos>")
    assert tokenizer.convert_tokens_to_ids("<call>") in result.token_ids
    assert result.calls[0].name == "ask"


def test_events_arrive_while_it_is_written(model: Any, chatting: Any) -> None:
    options: dict[str, Any] = {
        "tools": [ask],
        "tool_choice": "required",
        "reasoning": "off",
        "parallel": False,
    }
    with sm.stream(model, chatting, CHAT, max_new_tokens=200, **options) as stream:
        events = list(stream)
    assert isinstance(stream, sm.TurnStream)
    started = next(event for event in events if isinstance(event, tools.CallStarted))
    assert started == tools.CallStarted(0, "ask")
    finished = events[-1]
    assert isinstance(finished, tools.CallFinished) and finished.call == stream.result.calls[0]
    written = "".join(event.text for event in events if isinstance(event, tools.ArgumentsDelta))
    assert written == finished.call.written
    assert stream.turn.calls == [finished.call] and stream.text == stream.result.text


def test_the_value_comes_last(model: Any, chatting: Any) -> None:
    async def run() -> tuple[list[tools.Event], Any, sm.GenerationResult]:
        partial = None
        async with sm.stream(
            model, chatting, CHAT, Answer, tools=[ask], tool_choice="none", reasoning="off"
        ) as stream:
            events = []
            async for event in stream:
                events.append(event)
                partial = stream.partial
        return events, partial, stream.result

    events, partial, result = asyncio.run(run())
    assert events[-1] == tools.Value(result.parsed) and isinstance(result.parsed, Answer)
    assert partial == result.parsed.model_dump()
    assert "".join(event.text for event in events if isinstance(event, tools.TextDelta)) == result.content


def test_what_is_cut_has_what_was_whole(model: Any, chatting: Any) -> None:
    stream = sm.stream(model, chatting, CHAT, reasoning="on", max_new_tokens=12)
    events = list(stream)
    assert events and all(isinstance(event, tools.ReasoningDelta) for event in events)
    assert not stream.result.finished and stream.result.note in stream.result.parse_error
    assert repr(stream).startswith("<TurnStream of <TextStream: ")
    assert stream.result.reasoning == "".join(event.text for event in events)  # type: ignore[union-attr]


def test_several_prompts_and_grammars(model: Any, chatting: Any) -> None:
    first, second = sm.generate(
        model,
        chatting,
        [CHAT, "p"],
        [Answer, Literal["a", "b"]],
        tools=[ask],
        tool_choice="none",
        reasoning="off",
        max_new_tokens=64,
    )
    assert isinstance(first.parsed, Answer) and second.parsed in ("a", "b")


def test_mistakes(model: Any, tokenizer: Any, chatting: Any) -> None:
    compiled = sm.Compiler(sm.Vocabulary.from_huggingface(tokenizer)).compile("root ::= [a]")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, r"no output was specified: .*tools=\[…\]; None for free text"),
        ({"tool_choice": "none", "grammar": int}, "tool_choice chooses among tools"),
        ({"tools": [ask, ask]}, "at /tools/1: `ask` is the name of /tools/0 already"),
        ({"tools": [ask], "grammar": compiled}, "give the Grammar itself"),
        ({"tools": [ask], "style": "qwen_4"}, "no style `qwen_4`; did you mean `qwen_3`"),
        ({"reasoning": "always"}, "at /reasoning: 'always' is not one of on, off, auto"),
    ]
    for options, problem in wrong:
        with pytest.raises(sm.StackmaskError, match=problem):
            sm.generate(model, chatting, "p", **options)
    with pytest.raises(tools.ToolError, match="the tokenizer has no chat template; give the style by name"):
        sm.generate(model, tokenizer, "p", tools=[ask])
    with pytest.raises(sm.StackmaskError, match="no output was specified"):
        next(sm.stream(model, tokenizer, "p"))


def test_the_message_of_a_turn_goes_into_the_next_request(model: Any, chatting: Any) -> None:
    options: dict[str, Any] = {"tools": [ask], "reasoning": "off", "max_new_tokens": 200}
    (result,) = sm.generate(
        model, chatting, CHAT, tool_choice="ask", parallel_tool_calls=False, seed=1, **options
    )
    (call,) = result.calls
    message = result.message()
    assert message["tool_calls"][0] == {
        "id": call.id,
        "type": "function",
        "function": {"name": "ask", "arguments": call.arguments},
    }
    answer = {"role": "tool", "tool_call_id": call.id, "content": call.run()}
    (last,) = sm.generate(model, chatting, [*CHAT, message, answer], Answer, tool_choice="none", **options)
    assert isinstance(last.parsed, Answer)
    with sm.stream(
        model, chatting, CHAT, tool_choice="ask", parallel_tool_calls=False, seed=1, **options
    ) as events:
        started = [event for event in events if isinstance(event, tools.CallStarted)]
    assert [event.id for event in started] == [events.turn.calls[0].id]
    assert events.result.message()["content"] == ""
