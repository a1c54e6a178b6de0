"""Runs inside of rules that a walk calls, as the letters of a key behind its quote: taken from run tables as others are."""

from __future__ import annotations

import json
import random

import pytest
from exactness.walks import compare_along

import stackmask as sm

NAMES = ["na", "name", "names", "note", "if", "ü"]


def vocabulary() -> sm.Vocabulary:
    """Return bytes and a few hundred words that go on behind what opens a key, a string or a tag."""
    rng = random.Random(17)
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens.append(None)
    letters = {"".join(rng.choice("namestiofü1\\") for _ in range(rng.randint(1, 5))) for _ in range(400)}
    letters |= (
        set(NAMES) | {name + '"' for name in NAMES} | {name + '":' for name in NAMES} | {'"', '":', '":1'}
    )
    words = {before + word for before in ("", '"', ' "', ',"', ', "', '{"', "<", " <") for word in letters}
    words |= {'q":1,"' + word for word in NAMES} | {"na>", "na<", "1}", '"}', '"]', "}}", "></"}
    tokens += [word.encode() for word in sorted(words) if len(word.encode()) > 1]
    return sm.Vocabulary(tokens, stop_ids=[256])


VOCABULARY = vocabulary()


def schema(names: list[str], **more: object) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "number"} for name in names}, **more}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"propertyNames": {"maxLength": 4}},
        {"propertyNames": {"pattern": "^[a-z]+$"}},
        {"additionalProperties": {"type": "integer"}, "maxProperties": 2},
        {"minProperties": 2, "required": ["if"]},
        {"patternProperties": {"^na": {"type": "boolean"}}, "additionalProperties": False},
    ],
)
def test_undeclared_keys(order: str, more: dict[str, object]) -> None:
    for cache in (1 << 24, 150_000):
        compiler = sm.Compiler(VOCABULARY, cache_bytes=cache)
        for nested in (False, True):
            inner = schema(NAMES, **more)
            outer = schema(["o", "na"], additionalProperties=inner) if nested else inner
            compiled = compiler.compile(sm.Grammar.from_json_schema(outer, property_order=order))
            text = {"if": 2, "nai": True} if "patternProperties" in more else {"if": 2, "nas": 1}
            compare_along(compiled, json.dumps({"x": text} if nested else text).encode(), 3)


def test_no_configurations_behind_the_quote() -> None:
    """A key state costs a walk of what can follow the quote, and not one of all that begins with it."""
    compiler = sm.Compiler(VOCABULARY)
    visited = []
    for k in range(3):
        # names of their own make key states of their own
        compiled = compiler.compile(sm.Grammar.from_json_schema(schema([*NAMES, f"n{k}"])))
        matcher = compiled.matcher()
        for text in (b"{", b'"q"', b":1", b","):
            assert matcher.accept_string(text)
            before = compiled.stats()["visited_nodes"]
            matcher.fill_next_token_bitmask(sm.allocate_token_bitmask(1, VOCABULARY.size))
            visited.append(compiled.stats()["visited_nodes"] - before)
    assert max(visited[4:]) < 100


@pytest.mark.parametrize("letters", ["[a-z]+", "[a-z]{2,4}", "[a-zü] [a-z1]*", '([a-z]+ - ("na" | "if"))'])
def test_captures_and_rules_that_are_called(letters: str) -> None:
    for source in (
        f'root ::= "{{" key ("," " "? key)* "}}"\nkey ::= "\\"" name "\\":" [0-9]\nname ::= {letters}',
        f'root ::= "<" name ">" root? "</" name ">"\nname ::= {letters}',
        f'root ::= @scope("<" @push(name) ">" (root | "x")? "</" @top ">")\nname ::= {letters}',
    ):
        compiler = sm.Compiler(VOCABULARY, cache_bytes=150_000)
        compiled = compiler.compile(sm.Grammar.from_ebnf(source))
        text = b'{"tea":1, "no":2}' if source.startswith('root ::= "{') else b"<tea><no></no></tea>"
        compare_along(compiled, text, 3)
