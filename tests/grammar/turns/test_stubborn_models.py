"""Turns of models that go on for as long as they may: in the model profile each ends by itself."""

from __future__ import annotations

import itertools
import json
import lzma
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from support.byte_matcher import ByteMatcher
from support.campaign import mostly_campaign
from support.datapack import datapack, needs_datapack

import stackmask as sm
from stackmask import tools
from stackmask.grammar.turns.frontend import MAX_CALLS
from stackmask.grammar.turns.styles import NAME, STYLES

MEASURE = {
    "type": "function",
    "function": {
        "name": "measure",
        "parameters": {
            "type": "object",
            "properties": {
                "unit": {"enum": ["km", "mile"]},
                "note": {"type": "string", "maxLength": 3},
                "count": {"type": "integer"},
                "length": {"type": "number"},
                "sides": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
                "place": {
                    "type": "object",
                    "properties": {"x": {"type": "number"}},
                    "additionalProperties": False,
                },
                "quick": {"type": ["boolean", "null"]},
            },
            "additionalProperties": False,
        },
    },
}


def stop() -> None:
    """Stop."""


TOOLS = [MEASURE, stop]
ANSWER = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
    "additionalProperties": False,
}
ONE = {"type": "function", "function": {"name": "measure"}}
MOST = 600  # bytes of a call, with what stands around it

WORDS = [
    "\n\n",
    "\n\n\n\n",
    "\r\n",
    "  ",
    "    ",
    "        ",
    "\t\t",
    " \n",
    "\n  ",
    "00",
    "000",
    "99",
    "12345678",
]
WORDS += [
    *(f" {word}" for word in ("the", "1", "{", "[", '"', "<")),
    '{"',
    '":',
    '": ',
    '", "',
    "}\n",
    "}}",
    ".5",
]


def blanks_first(token: bytes) -> Any:
    return not token.isspace(), not token[:1].isspace(), -len(token)


def digits_first(token: bytes) -> Any:
    return not token.isdigit(), b"0" not in token, -len(token)


def longest_first(token: bytes) -> Any:
    return -len(token), token


class Models:
    """Greedy models over one vocabulary, which stop only where they must."""

    def __init__(self, vocabulary: sm.Vocabulary) -> None:
        self.compiler = sm.Compiler(vocabulary)
        names = {
            i: name.encode() for name, i in vocabulary.special_names.items() if i not in vocabulary.stop_ids
        }
        self.texts = [text or names.get(i, b"") for i, text in enumerate(vocabulary.tokens)]
        known = [i for i, text in enumerate(self.texts) if text]
        keys: list[Callable[[bytes], Any]] = [blanks_first, digits_first, longest_first]
        self.orders = [np.array(sorted(known, key=lambda i: (key(self.texts[i]), i))) for key in keys]
        self.mask = sm.allocate_token_bitmask(1, vocabulary.size)

    def written(self, order: np.ndarray, matcher: sm.Matcher, begun: str, most: int) -> str:
        """Return the turn of one of the models, which has begun it so."""
        written = bytearray(begun.encode())
        assert not begun or matcher.accept_string(begun)
        while len(written) <= most:
            matcher.fill_next_token_bitmask(self.mask)
            bits = np.unpackbits(np.asarray(self.mask).view(np.uint8).ravel(), bitorder="little")
            chosen = int(order[np.argmax(bits[order])])
            if not bits[chosen]:
                assert matcher.is_accepting()
                return written.decode()
            assert matcher.accept_token(chosen)
            written += self.texts[chosen]
        raise AssertionError(f"no end: {bytes(written)[:200]!r} … {bytes(written)[-80:]!r}")


TOKENS = [*(bytes([b]) for b in range(256)), *(word.encode() for word in WORDS)]
SMALL = Models(sm.Vocabulary([*TOKENS, None], stop_ids=[len(TOKENS)]))


def begun_turn(style: tools.ToolStyle, reasoning: str, *, calls: bool) -> str:
    """Return what free text a turn begins with, for a model to end it: thoughts, what is said before calls, and the first marker of these."""
    thoughts = f"{style.thinking[0]}Why?{style.thinking[1]}" if reasoning == "on" else ""
    if not calls:
        return thoughts
    said = ""
    if style.content[0]:
        said = (
            f"{style.content[0]}So.{style.content[1][0]}"
            if style.section[0]
            else style.glue
            if thoughts
            else ""
        )
    elif not style.is_alone:
        said = "So."
    return thoughts + said + (style.begin or style.calls[0][0].partition(NAME)[0])


@pytest.mark.parametrize("style", mostly_campaign(STYLES, 8))
def test_every_turn_ends_by_itself(style: str) -> None:
    how = STYLES[style]
    count = 0
    for (choice, answer), reasoning, parallel in itertools.product(
        [("auto", None), ("auto", ANSWER), ("required", None), (ONE, None)], ("on", "off"), (True, False)
    ):
        options: dict[str, Any] = {"tool_choice": choice, "reasoning": reasoning, "response_format": answer}
        options["parallel"] = parallel
        compiled = SMALL.compiler.compile(tools.grammar(style, TOOLS, profile="model", **options))
        exact = ByteMatcher(tools.grammar(style, TOOLS, **options))
        begun = begun_turn(how, reasoning, calls=choice == "auto" and answer is None)
        several = parallel and choice != ONE
        for order in SMALL.orders:
            text = SMALL.written(order, compiled.matcher(), begun, MOST * (MAX_CALLS if several else 1))
            assert exact.matches(text)  # so parsers of servers read it as they read other turns
            turn = tools.parse(style, text, tools=TOOLS)
            assert turn.reasoning == ("Why?" if reasoning == "on" else "")
            assert len(turn.calls) <= (MAX_CALLS if several else 1)
            assert turn.calls or answer is not None
            assert turn.content.strip() in ("", "So.") or answer is not None
            for call in turn.calls:
                assert (
                    call.tool is not None
                    and call.arguments.keys() <= MEASURE["function"]["parameters"]["properties"].keys()
                )
            count += 1
    assert count == 48


@lru_cache(1)
def qwen() -> Models:
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer

    folder = datapack() / "tokenizers" / "qwen3-151k"  # type: ignore[operator]
    tokenizer = Tokenizer.from_str(lzma.decompress((folder / "tokenizer.json.xz").read_bytes()).decode())
    stops = [
        tokenizer.token_to_id(name) for name in json.loads((folder / "META.json").read_text())["stop_tokens"]
    ]
    return Models(sm.Vocabulary.from_huggingface(tokenizer, stop_ids=stops))


@pytest.mark.campaign
@needs_datapack
@pytest.mark.parametrize("style", ["qwen_3", "qwen_3_coder"])
def test_every_turn_ends_by_itself_in_the_tokens_of_a_model(style: str) -> None:
    models = qwen()
    made = tools.grammar(style, TOOLS, tool_choice="required", reasoning="off", profile="model")
    compiled = models.compiler.compile(made)
    for order in models.orders:
        text = models.written(order, compiled.matcher(), "", MOST * MAX_CALLS)
        turn = tools.parse(style, text, tools=TOOLS)
        assert 1 <= len(turn.calls) <= MAX_CALLS and turn.content == ""


CALL = {
    "qwen_3": '<tool_call>\n{"name": "stop", "arguments": {}}\n</tool_call>',
    "glm_4_7": "<tool_call>stop</tool_call>",
    "mistral": "[TOOL_CALLS]stop[ARGS]{}",
    "llama": '{"name": "stop", "parameters": {}}',
}


def takes(style: str, text: str, profile: str, **options: Any) -> bool:
    """Return whether a turn without thoughts is in the grammar."""
    made = tools.grammar(style, [stop], reasoning="off", profile=profile, **options)
    return ByteMatcher(made).matches(text)


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_what_stands_between_calls(choice: str) -> None:
    for style, call in CALL.items():
        between = STYLES[style].between
        loose = style in ("qwen_3", "glm_4_7")
        for text, in_model, in_exact in (
            (call + between + call, True, True),
            (f"{call}\n{call}", loose, loose),
            (f"{call}\n", loose, loose),
            (f"{call}\n\n{call}", False, loose),
            (f"{call} and {call}", False, loose),
            (f"{call} ", False, loose),
            (call + (between + call) * (MAX_CALLS - 1), True, True),
            (call + (between + call) * MAX_CALLS, False, True),
        ):
            for profile, expected in (("model", in_model), ("exact", in_exact)):
                assert takes(style, text, profile, tool_choice=choice) is expected, (
                    style,
                    text[:90],
                    profile,
                )
            if in_model:
                turn = tools.parse(style, text, tools=[stop])
                assert turn.content == "" and len(turn.calls) == text.count("stop")
                parser = tools.TurnParser(style, [stop])
                for char in text:
                    parser.feed(char)
                parser.close()
                assert parser.turn == turn
        assert not takes(style, call + between + call, "model", tool_choice=choice, parallel=False)
        assert not takes(style, f"{call}\n", "model", tool_choice=choice, parallel=False)


def test_text_before_calls() -> None:
    for style in ("qwen_3", "glm_4_7", "mistral"):
        text = "Let me look.\n" + CALL[style]
        assert takes(style, text, "model") and takes(style, "It rains.", "model")
        assert not takes(style, text, "model", tool_choice="required")
        assert tools.parse(style, text, tools=[stop]).content == "Let me look.\n"


def test_text_between_calls_is_no_argument_of_glm() -> None:
    # the parser of vLLM takes it for content too: after `</tool_call>` it knows no marker of arguments
    call = CALL["glm_4_7"]
    text = f"{call}<arg_key>a</arg_key>{call}9"
    assert takes("glm_4_7", text, "exact") and not takes("glm_4_7", text, "model")
    turn = tools.parse("glm_4_7", text, tools=[stop])
    assert [found.arguments for found in turn.calls] == [{}, {}]
    assert turn.content == "<arg_key>a</arg_key>9"


def test_values_between_markers_are_written_as_models_write_them() -> None:
    def made(value: str, name: str = "place") -> str:
        return f"<tool_call>\n<function=measure>\n<parameter={name}>\n{value}\n</parameter>\n</function>\n</tool_call>"

    model, exact = (
        ByteMatcher(
            tools.grammar("qwen_3_5", TOOLS, reasoning="off", tool_choice="required", profile=profile)
        )
        for profile in ("model", "exact")
    )
    for value in ('{"x": 1.5}', '{"x":1.5}', '{\n  "x": 1.5\n}'):
        assert model.matches(made(value)) and exact.matches(made(value))
    for value in ('{"x":   1.5}', '{\n\n"x": 1.5}', '{"x": 0.%s}' % ("3" * 60)):
        assert not model.matches(made(value)) and exact.matches(made(value))
    assert not model.matches(made("3" * 60, "count")) and exact.matches(made("3" * 60, "count"))
    assert not model.matches(made("1").replace("<parameter", "\n\n<parameter"))


def test_numbers_of_calls_have_an_end() -> None:
    call = "<|tool_calls_section_begin|><|tool_call_begin|>functions.stop:{}<|tool_call_argument_begin|>{{}}<|tool_call_end|><|tool_calls_section_end|>"
    for number, in_model in (("0", True), ("123456", True), ("1234567", False), ("00", False)):
        assert takes("kimi", call.format(number), "exact")
        assert takes("kimi", call.format(number), "model") is in_model


def test_what_is_said_beside_required_calls_of_blocks() -> None:
    spoken = "<|open|>response<|sep|>{}<|close|>response<|sep|>"
    call = '<|open|>tools<|sep|><|open|>call tool="stop" index="1"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>'
    for said, in_model in (("", True), ("\n\n", False), ("So.", False)):
        text = spoken.format(said) + call
        assert takes("kimi_k3", text, "exact", tool_choice="required")
        assert takes("kimi_k3", text, "model", tool_choice="required") is in_model
        assert takes("kimi_k3", text, "model")


def test_the_report_says_what_is_left_out() -> None:
    notes = str(tools.grammar("qwen_3_coder", TOOLS, profile="model").report)
    assert "values are written in the model profile" in notes
    assert f"at most {MAX_CALLS}, with no text between them" in notes
    assert "at most" not in str(tools.grammar("qwen_3_coder", TOOLS).report)


def test_answers_that_keep_track_go_with_plain_arguments_between_markers() -> None:
    indented = sm.Grammar.from_json_schema(ANSWER, whitespace={"indent": 2})
    place = {
        "name": "go",
        "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    }
    place["parameters"]["additionalProperties"] = False  # type: ignore[index]
    for style in ("qwen_3_coder", "minimax_m3"):
        made = tools.grammar(style, [place], reasoning="off", response_format=indented, profile="model")
        assert ByteMatcher(made).matches('{\n  "count": 1\n}')
