"""Types in, values out: ``generate``, ``stream`` and ``agenerate``."""

from __future__ import annotations

import asyncio
import copy
import enum
import json
import pickle
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator
from transformers import StoppingCriteria

import stackmask as sm
from stackmask.grammar.source.work import CancelledError
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.models import compiler_for


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
    assert "the shortest text takes" in result.note
    assert result.parse_error == f"the text is not finished: {result.note}"


def test_what_is_cut_says_how_many_tokens_are_needed(
    model: Any, tokenizer: Any, vocab: sm.Vocabulary
) -> None:
    (result,) = sm.generate(model, tokenizer, "Order:", Order, max_new_tokens=5)
    least = sm.Compiler(vocab).compile(Order).matcher().needs_at_least()
    assert f"raise it; the shortest text takes {least}, stop token included" in result.parse_error
    (result,) = sm.generate(model, tokenizer, "Order:", Order, max_new_tokens=least)
    assert result.finished and result.note == ""
    finite = sm.fsm.compile(sm.Grammar.of(["a" * 50]), vocab)  # counts no tokens
    (result,) = sm.generate(model, tokenizer, "p", finite, max_new_tokens=2)
    assert result.note.endswith("before the text was complete: raise it")


def test_one_prompt_has_one_grammar(model: Any, tokenizer: Any) -> None:
    for given in ([Order], [Order, Order], (Order,), [sm.Grammar.of(Order)], [None], [1, 2, 3]):
        with pytest.raises(GenerationError, match="a list is one of strings to choose from"):
            sm.generate(model, tokenizer, "Order:", given)
    (result,) = sm.generate(model, tokenizer, ["Order:"], [Order], max_new_tokens=64)
    assert isinstance(result.parsed, Order)


def test_the_list_of_one_is_not_the_result(model: Any, tokenizer: Any) -> None:
    results = sm.generate(model, tokenizer, "p", ["true"])
    for name in ("parsed", "text", "calls"):
        with pytest.raises(sm.StackmaskError, match=rf"no `{name}`; write `\[result\] = generate"):
            getattr(results, name)
    assert not hasattr(results, "parsed") and not hasattr(results, "shape")
    assert pickle.loads(pickle.dumps(results)) == results == copy.deepcopy(results)


def test_results_and_streams_are_shown_in_short(model: Any, tokenizer: Any) -> None:
    stream = sm.stream(model, tokenizer, "p", ["true"])
    assert repr(stream) in ("<TextStream: '', running>", "<TextStream: '', ended>")
    assert list(stream) and repr(stream) == "<TextStream: 'true', ended>"
    assert repr(stream.result) == "GenerationResult(text='true', finished=True, reason='stop', parsed='true')"
    processor = sm.GrammarLogitsProcessor([Order] * 9, tokenizer=tokenizer)
    assert (
        repr(processor).startswith("<GrammarLogitsProcessor of [<CompiledGrammar: ")
        and len(repr(processor)) < 300
    )
    assert repr(sm.JumpDecoding(Order, tokenizer=tokenizer)).startswith(
        "<JumpDecoding of [<CompiledGrammar: "
    )


def test_the_length_with_the_prompt_is_refused(model: Any, tokenizer: Any) -> None:
    with pytest.raises(GenerationError, match="no option `max_length`; write `max_new_tokens`"):
        sm.generate(model, tokenizer, "Order:", Order, max_length=20)


def test_a_schema_may_be_text(model: Any, tokenizer: Any) -> None:
    (result,) = sm.generate(model, tokenizer, "p", ' {"enum": [1, 2]}')
    assert result.parsed in (1, 2)


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
        sm.generate(model, tokenizer, ["p"], ['root ::= "a"', Literal[1]])
    with pytest.raises(GenerationError, match="beside a list of prompts, a list has a grammar for each"):
        sm.generate(model, tokenizer, ["p", "q"], ["true", "12"])


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


class Same(Order):
    """The fields of an order, in another class."""


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Tick(StoppingCriteria):
    """Tell when the first token was written; stops nothing."""

    def __init__(self) -> None:
        self.ticked = threading.Event()
        self.steps = 0

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        self.ticked.set()
        self.steps += 1
        return input_ids[:, 0] < 0


ENDLESS = "root ::= [ab]{1500}"


def streams() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "stackmask-stream"]


def test_equal_types_come_back_as_what_was_asked_for(model: Any, tokenizer: Any) -> None:
    for asked in (Order, Same, Order):
        (result,) = sm.generate(model, tokenizer, "Order:", asked, max_new_tokens=64)
        assert type(result.parsed) is asked
    (result,) = sm.generate(model, tokenizer, "p", sm.Grammar.from_choices(Colour))
    assert result.parsed in Colour
    as_rules, as_choice = sm.generate(model, tokenizer, ["p", "q"], ['root ::= "ab"', ["ab"]])
    assert (as_rules.parsed, as_choice.parsed) == (None, "ab")


def test_what_a_validator_refuses_is_said(model: Any, tokenizer: Any) -> None:
    class Never(BaseModel, extra="forbid"):
        kind: Literal["wrong", "broken"]

        @field_validator("kind")
        @classmethod
        def check(cls, kind: str) -> str:
            raise ValueError("not today") if kind == "wrong" else KeyError(kind)

    results = sm.generate(model, tokenizer, ["p"], [Never], do_sample=True, num_return_sequences=8, seed=1)
    assert {(result.parsed, result.parse_error) for result in results} == {
        (None, "ValidationError: kind: Value error, not today"),
        (None, "KeyError: 'broken'"),
    }


def test_a_grammar_in_a_list_is_not_taken_for_a_choice(model: Any, tokenizer: Any) -> None:
    with pytest.raises(GenerationError, match="give the EBNF text itself, without the list"):
        sm.generate(model, tokenizer, "p", ['root ::= "ab"'])
    (result,) = sm.generate(model, tokenizer, ["p"], ['root ::= "ab"'])
    assert result.text == "ab"


def test_processors_compile_for_a_tokenizer(model: Any, tokenizer: Any) -> None:
    ids = tokenizer("p", return_tensors="pt")["input_ids"]
    colours = sm.Grammar.from_choices(Colour)
    for given in (colours, [colours], ['root ::= "red" | "blue"'], re.compile("red|blue")):
        processor = sm.GrammarLogitsProcessor(given, tokenizer=tokenizer)
        output = model.generate(ids, max_new_tokens=8, logits_processor=[processor])
        assert tokenizer.decode(output[0, ids.shape[1] :], skip_special_tokens=True) in ("red", "blue")
    decoding = sm.JumpDecoding(colours, tokenizer=tokenizer)
    model.generate(ids, custom_generate=decoding, max_new_tokens=8)
    assert tokenizer.decode(decoding.written[0], skip_special_tokens=True) in ("red", "blue")
    assert compiler_for(None, tokenizer) is compiler_for(None, tokenizer)
    with pytest.raises(GenerationError, match=r"'red' is not a grammar: .*from_choices"):
        sm.GrammarLogitsProcessor(["red", "blue"], tokenizer=tokenizer)
    with pytest.raises(GenerationError, match="or tokenizer="):
        sm.JumpDecoding(colours)


def test_many_streams_of_coroutines(model: Any, tokenizer: Any) -> None:
    async def collect(prompt: str) -> Any:
        async with sm.stream(model, tokenizer, prompt, Order, max_new_tokens=64) as stream:
            text = "".join([piece async for piece in stream])
        assert [piece async for piece in stream] == []
        assert text == stream.result.text
        return stream.result.parsed

    async def run() -> list[Any]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))  # none of its threads waits for a piece
        return await asyncio.gather(*(collect(str(i)) for i in range(12)))

    assert all(isinstance(value, Order) for value in asyncio.run(run()))
    assert not streams()


def test_errors_reach_the_coroutine(model: Any, tokenizer: Any) -> None:
    async def run() -> None:
        async for _ in sm.stream(model, tokenizer, "p", Order, max_new_tokens=0):
            pass

    with pytest.raises(GenerationError, match="max_new_tokens is 0"):
        asyncio.run(run())


def test_leaving_and_cancelling_end_the_stream(model: Any, tokenizer: Any) -> None:
    made: list[Any] = []

    async def leave() -> None:
        async with sm.stream(model, tokenizer, "p", ENDLESS, max_new_tokens=1500) as stream:
            made.append(stream)
            async for _ in stream:
                break

    async def iterate() -> None:
        made.append(sm.stream(model, tokenizer, "p", ENDLESS, max_new_tokens=1500))
        async for _ in made[-1]:
            pass

    async def cancel() -> None:
        task = asyncio.create_task(iterate())
        while len(made) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    assert made[0].result.reason == "interrupted"
    asyncio.run(cancel())
    made[1].close()
    assert not made[1]._results or made[1].result.reason == "interrupted"  # it may have been compiling
    assert not streams()


def test_a_cancelled_task_ends_when_its_generation_has(model: Any, tokenizer: Any) -> None:
    tick = Tick()

    async def run() -> int:
        task = asyncio.create_task(
            sm.agenerate(model, tokenizer, "p", ENDLESS, max_new_tokens=1500, stopping_criteria=[tick])
        )
        await asyncio.to_thread(tick.ticked.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return tick.steps

    steps = asyncio.run(run())
    assert steps == tick.steps < 1500


def test_cancelling_ends_compiling_as_well(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = threading.Event()
    ended: list[bool] = []

    def compile(self: sm.Compiler, grammar: Any, *, cancel: Any = None) -> Any:
        reached.set()
        while not cancel.is_set():
            time.sleep(0.001)
        ended.append(True)
        raise CancelledError

    monkeypatch.setattr(sm.Compiler, "compile", compile)

    async def run() -> None:
        task = asyncio.create_task(sm.agenerate(model, tokenizer, "p", ENDLESS))
        await asyncio.to_thread(reached.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert ended == [True]


def test_chat_templates_that_fail_are_errors_with_a_reason(
    model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, answer = {"role": "user", "content": "p"}, {"role": "assistant", "content": "q"}
    template = (
        "{% for m in messages %}<{{ m['content'] }}>{% endfor %}{{ raise_exception('no') if tools else '' }}"
    )
    monkeypatch.setattr(tokenizer, "chat_template", template)
    both = {"continue_final_message": True, "add_generation_prompt": True}
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    for prompt, options, problem in (
        ("p", {"tools": []}, "chat_options are for chats"),
        ([user], {"tokenize": True}, "chat_options: tokenize cannot be given"),
        ([user, answer], both, "cannot lay out the messages"),
        ([user], {"tools": [tool]}, "cannot lay out the messages: no"),
    ):
        with pytest.raises(GenerationError, match=problem):
            sm.generate(model, tokenizer, prompt, ["yes", "no"], chat_options=options)
    monkeypatch.setattr(tokenizer, "chat_template", None)
    with pytest.raises(GenerationError, match="cannot lay out the messages"):
        sm.generate(model, tokenizer, [user], ["yes", "no"])


UNFINISHED = """
import stackmask as sm
from stackmask.runtime.embedded import load_embedded

model, tokenizer = load_embedded()
stream = sm.stream(model, tokenizer, "Hi", sm.Grammar.from_ebnf("root ::= [a-z]{5000}"), max_new_tokens=4000)
print(len(next(stream)) > 0)
"""


@pytest.mark.campaign
def test_a_program_ends_in_the_middle_of_a_stream() -> None:
    done = subprocess.run([sys.executable, "-c", UNFINISHED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
