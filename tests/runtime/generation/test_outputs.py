"""Types in, values out: ``generate``, ``stream`` and ``agenerate``."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

import stackmask as sm
from stackmask.runtime.generation.errors import GenerationError


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: Literal["small", "large"]
    count: int = Field(ge=0, le=99)


def test_a_type_comes_back_as_an_object(model: Any, tokenizer: Any) -> None:
    (result,) = sm.generate(model, tokenizer, "Order:", Order, max_new_tokens=64)
    assert result.finished
    assert isinstance(result.parsed, Order)
    assert result.parse_error == ""
    assert result.parsed.model_dump() == json.loads(result.text)


def test_what_is_not_finished_has_a_reason(model: Any, tokenizer: Any) -> None:
    (result,) = sm.generate(model, tokenizer, "Order:", Order, max_new_tokens=1, jump="off")
    assert result.parsed is None
    assert result.parse_error == "the text is not finished"


def test_grammars_without_values_say_so(model: Any, tokenizer: Any) -> None:
    (result,) = sm.generate(model, tokenizer, "p", 'root ::= "a"')
    assert result.parsed is None
    assert "says nothing of values" in result.parse_error


def test_a_list_is_choices_for_one_prompt_and_one_grammar_each_for_several(
    model: Any, tokenizer: Any
) -> None:
    (one,) = sm.generate(model, tokenizer, "p", ["true", "12"])
    assert one.parsed in ("true", "12")
    both = sm.generate(model, tokenizer, ["p", "q"], ['root ::= "a"', Literal[1]])
    assert [result.text for result in both] == ["a", "1"]
    with pytest.raises(GenerationError, match="grammar has 2 entries, but there are 1 prompts"):
        sm.generate(model, tokenizer, ["p"], ["true", "12"])


def test_streams_have_partial_values(model: Any, tokenizer: Any) -> None:
    stream = sm.stream(model, tokenizer, "Order:", Order, max_new_tokens=64)
    partial = [stream.partial for _ in stream]
    assert stream.text == stream.result.text
    assert partial[-1] == stream.result.parsed.model_dump()
    assert all(set(value) <= {"size", "count"} for value in partial if value is not None)


def test_asynchronous_streams_and_calls(model: Any, tokenizer: Any) -> None:
    async def run() -> tuple[str, str]:
        stream = sm.stream(model, tokenizer, "Order:", Order, max_new_tokens=64, do_sample=False)
        pieces = [piece async for piece in stream]
        (result,) = await sm.agenerate(model, tokenizer, "Order:", Order, max_new_tokens=64, do_sample=False)
        return "".join(pieces), result.text

    streamed, whole = asyncio.run(run())
    assert streamed == whole


def test_cancelling_the_task_ends_the_generation(model: Any, tokenizer: Any) -> None:
    async def run() -> None:
        task = asyncio.create_task(
            sm.agenerate(model, tokenizer, "p", "root ::= [a-c]{5000}", max_new_tokens=5000, jump="off")
        )
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())  # waits for its threads: it would take minutes


def test_options_of_the_chat_template(model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def template(messages: Any, **options: Any) -> str:
        seen.append(options)
        return "p"

    monkeypatch.setattr(tokenizer, "apply_chat_template", template, raising=False)
    chat = [{"role": "user", "content": "p"}]
    sm.generate(model, tokenizer, chat, 'root ::= "a"', chat_options={"enable_thinking": False})
    sm.generate(model, tokenizer, chat, 'root ::= "a"', chat_options={"continue_final_message": True})
    assert seen == [
        {"add_generation_prompt": True, "enable_thinking": False, "tokenize": False},
        {"add_generation_prompt": False, "continue_final_message": True, "tokenize": False},
    ]


def test_processors_want_compiled_grammars() -> None:
    with pytest.raises(GenerationError, match="Grammar is not compiled"):
        sm.GrammarLogitsProcessor(sm.Grammar.of(["a"]))  # type: ignore[arg-type]
