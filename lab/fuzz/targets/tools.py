"""Turns with tools: what the grammar of a turn lets through can be parsed, and is what was asked for.

The bytes of the input are decisions: the style, the tools, the options, and how the turn goes on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import jsonschema

import stackmask as sm
from fuzz.checks import (
    LIMITS,
    NAMED_ERRORS,
    compiler_of,
    expect,
    make_vocabulary,
    mask_of,
    random_of,
    tokens_of,
)
from fuzz.choices import Choices

MAX_LENGTH = 80
MOST_STEPS = 14
MOST_NEEDED = 100
STYLES = tuple(sm.tools.style_names())
PARAMETERS: tuple[Any, ...] = (
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "on": {"type": "boolean"}},
        "required": ["n"],
    },
    {"type": "object", "properties": {"unit": {"enum": ["C", "F"]}, "a": {"type": "null"}}},
    {
        "type": "object",
        "properties": {"q": {"type": "string", "maxLength": 4}},
        "additionalProperties": False,
    },
    {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}, "maxItems": 2}}},
    {
        "type": "object",
        "properties": {"o": {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]}},
        "required": ["o"],
    },
    {"type": "object", "properties": {}},
    {
        "type": "object",
        "properties": {"s": {"type": ["string", "null"]}, "é": {"const": "ü"}},
        "minProperties": 1,
    },
    {
        "properties": {"a": {"anyOf": [{"type": "boolean"}, {"type": "string", "minLength": 1}]}},
        "required": ["a"],
    },
    {
        "type": "object",
        "properties": {"code": {"type": "string"}},
        "required": ["code"],
        "additionalProperties": False,
    },
)
NAMES = ("find", "f", "get_weather", "a-b", "find2")
ANSWERS: tuple[Any, ...] = (
    None,
    None,
    None,
    {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    },
    {"enum": ["yes", "no"]},
)
MARKERS = (
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "[TOOL_CALLS]",
    "<|channel|>",
    "<|message|>",
    "<|call|>",
)
vocabulary = make_vocabulary()
# the same, with markers as special tokens
marked = sm.Vocabulary(
    [*vocabulary.tokens, *(None for _ in MARKERS)],
    stop_ids=vocabulary.stop_ids,
    special_names={name: len(vocabulary.tokens) + number for number, name in enumerate(MARKERS)},
)
MARKED = {token: name.encode() for name, token in marked.special_names.items()}
# what each token writes, in one vocabulary and in the other
TEXTS = [
    [token or MARKED.get(number, b"") for number, token in enumerate(words.tokens)]
    for words in (vocabulary, marked)
]


def seeds() -> Iterator[bytes]:
    source = random.Random(0)
    for number in range(len(STYLES)):
        for _ in range(5):
            yield bytes([number]) + source.randbytes(40)


def run(data: bytes) -> None:
    choices = Choices(data)
    style = choices.pick(STYLES)
    names = list(NAMES)
    tools = []
    for _ in range(1 + choices.below(3)):
        name = names.pop(choices.below(len(names)))
        tools.append({"name": name, "parameters": choices.pick(PARAMETERS)})
    choice = choices.pick(
        ("auto", "auto", "required", "none", {"type": "function", "function": {"name": tools[0]["name"]}})
    )
    options = {
        "reasoning": choices.pick(("off", "auto", "on")),
        "response_format": choices.pick(ANSWERS),
        "parallel": choices.below(3) > 0,
        "profile": choices.pick(("exact", "model")),
        "opened": choices.below(8) == 1,
    }
    words = choices.pick((vocabulary, vocabulary, vocabulary, marked))
    try:
        grammar = sm.tools.grammar(style, tools, tool_choice=choice, limits=LIMITS, **options)
        matcher = compiler_of(words).compile(grammar).matcher()
        text = turn_of(matcher, words, choices)
        if text is None:
            return
    except NAMED_ERRORS:
        return
    check(style, tools, choice, options, text, random_of(data))


def turn_of(matcher: Any, words: sm.Vocabulary, choices: Choices) -> str | None:
    """Return a whole turn: chosen tokens, then a shortest end; None if there is none that can be written."""
    stops, texts = set(words.stop_ids), TEXTS[words is marked]
    written = b""
    for _ in range(MOST_STEPS):
        if choices.ended:
            break
        allowed = [token for token in tokens_of(mask_of(matcher, words.size)) if token not in stops]
        if not allowed:
            break
        token = allowed[choices.below(len(allowed))]
        expect(matcher.accept_token(token), "an allowed token is refused", token, written)
        written += texts[token]
    if words is vocabulary:  # all is text
        end = matcher.shortest_completion().text
        expect(not end or matcher.accept_string(end), "the shortest completion is refused", end, written)
        written += end
    masks = sm.allocate_token_bitmask(1, words.size)
    for _ in range(MOST_NEEDED):
        if matcher.is_accepting():
            return written.decode()
        matcher.fill_next_token_bitmask(masks, budget=matcher.needs_at_least())
        token = tokens_of(masks[0])[0]
        expect(matcher.accept_token(token), "an allowed token is refused", token, written)
        written += texts[token]
    return None


def check(
    style: str,
    tools: list[dict[str, Any]],
    choice: Any,
    options: dict[str, Any],
    text: str,
    source: random.Random,
) -> None:
    """Parse a turn, whole and in pieces, and check that it holds what was asked for."""
    opened = options["opened"] and options["reasoning"] != "off"
    turn = sm.tools.parse(style, text, tools=tools, opened=opened)
    parser = sm.tools.TurnParser(style, tools, opened=opened)
    at = 0
    while at < len(text):
        end = at + source.choice((1, 1, 2, 5, 20))
        parser.feed(text[at:end])
        at = end
    parser.close()
    expect(parser.turn == turn, "a turn in pieces", style, text, parser.turn, turn)
    schemas = {tool["name"]: tool["parameters"] for tool in tools}
    for call in turn.calls:
        expect(call.name in schemas, "a tool that was not given", style, call.name, text)
        valid = jsonschema.Draft202012Validator(schemas[call.name]).is_valid(call.arguments)
        expect(valid and isinstance(call.arguments, dict), "arguments", style, call.arguments, text)
    if choice == "required" or isinstance(choice, dict):
        expect(bool(turn.calls), "no call", style, text)
    if choice == "none":
        expect(not turn.calls, "a call", style, text)
    if isinstance(choice, dict):
        expect({call.name for call in turn.calls} <= {tools[0]["name"]}, "another tool", style, text)
    if not options["parallel"]:
        expect(len(turn.calls) <= 1, "several calls", style, text)
    if options["reasoning"] == "off" and not opened:
        expect(not turn.reasoning, "reasoning", style, text, turn)
