"""Turns of models that go on for as long as they may: in the model profile each ends by itself."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import stackmask as sm
from stackmask import tools
from stackmask.grammar.tools.styles import NAME, STYLES
from stackmask.grammar.tools.turn import MAX_CALLS

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
    ".5",
]
WORDS += [
    *(f" {word}" for word in ("the", "1", "{", "[", '"', "<")),
    '{"',
    '":',
    '": ',
    '", "',
    "}\n",
    "}}",
    "]}",
    '"}\n',
]
TOKENS = [*(bytes([b]) for b in range(256)), *(word.encode() for word in WORDS)]
VOCABULARY = sm.Vocabulary([*TOKENS, None], stop_ids=[len(TOKENS)])
COMPILER = sm.Compiler(VOCABULARY)


def blanks_first(token: bytes) -> Any:
    return not token.isspace(), not token[:1].isspace(), -len(token)


def digits_first(token: bytes) -> Any:
    return not token.isdigit(), b"0" not in token, -len(token)


def longest_first(token: bytes) -> Any:
    return -len(token), token


ORDERS = [
    np.array(sorted(range(len(TOKENS)), key=lambda i: (key(TOKENS[i]), i)))
    for key in (blanks_first, digits_first, longest_first)
]


def written_by(order: np.ndarray, matcher: sm.Matcher, begun: str, most: int) -> str:
    """Return the turn of a greedy model that stops only where it must; it has begun the turn so."""
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    written = bytearray(begun.encode())
    assert not begun or matcher.accept_string(begun)
    while len(written) <= most:
        matcher.fill_next_token_bitmask(mask)
        bits = np.unpackbits(np.asarray(mask).view(np.uint8).ravel(), bitorder="little")
        allowed = order[bits[order] == 1]
        if not len(allowed):
            assert matcher.is_accepting()
            return written.decode()
        assert matcher.accept_token(int(allowed[0]))
        written += TOKENS[allowed[0]]
    raise AssertionError(f"no end after {most} bytes: {bytes(written)[:200]!r} … {bytes(written)[-80:]!r}")


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


@pytest.mark.parametrize("style", STYLES)
def test_every_turn_ends_by_itself(style: str) -> None:
    how = STYLES[style]
    count = 0
    for (choice, answer), reasoning, parallel in itertools.product(
        [("auto", None), ("auto", ANSWER), ("required", None), (ONE, None)], ("on", "off"), (True, False)
    ):
        made = tools.grammar(
            style,
            TOOLS,
            tool_choice=choice,
            reasoning=reasoning,
            response_format=answer,
            parallel=parallel,
            profile="model",
        )
        compiled = COMPILER.compile(made)
        begun = begun_turn(how, reasoning, calls=choice == "auto" and answer is None)
        several = parallel and choice != ONE
        for order in ORDERS:
            text = written_by(order, compiled.matcher(), begun, MOST * (MAX_CALLS if several else 1))
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
