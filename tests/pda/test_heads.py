"""States that are cut into heads and rests: masks must be those of the grammar, and shared."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import stackmask as sm

TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS += [
    None,
    b'":',
    b'": "',
    b'","',
    b', "',
    b'{"',
    b'"}',
    b'{"na',
    b'me":',
    b'name":1',
    b'1,"n',
    b'"name',
    b'ote":"x"',
]
TOKENS += [
    b'te","',
    b"\\u006",
    b'5":',
    b"12",
    b"2.5,",
    b"true,",
    b'[{"',
    b'}],"',
    b"null}",
    b'e":[',
    b'0,"name":',
]
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[256])

NAMES = ["name", "note", "no", "number", "nested", "list"]
PROPERTIES: dict[str, Any] = {
    "name": {"type": "number"},
    "note": {"type": "string"},
    "no": {"type": "boolean"},
    "number": {"enum": ["a", "name", "note"]},
    "nested": {"$ref": "#/$defs/inner"},
    "list": {"type": "array", "items": {"$ref": "#/$defs/inner"}},
}
INNER = {"type": "object", "properties": {"name": {"type": "integer"}, "note": {"type": ["string", "null"]}}}
VALUE = {
    "name": 12.5,
    "note": "x",
    "no": True,
    "number": "note",
    "nested": {"name": 1, "note": None},
    "list": [{"name": 10}, {"note": "name"}],
}


def schema(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": PROPERTIES, "$defs": {"inner": INNER}, **more}


def follow(compiled: sm.CompiledGrammar, text: bytes) -> None:
    """Compare the mask before every byte with what happens when each token is tried."""
    matcher = compiled.matcher()
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    for byte in text:
        matcher.fill_next_token_bitmask(mask)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: VOCABULARY.size]
        tried = [bool(matcher.fork().accept_token(token)) for token in range(VOCABULARY.size)]
        assert [bool(bit) for bit in bits] == tried, matcher
        assert matcher.accept_token(byte)


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"additionalProperties": False},
        {"required": ["no", "list"]},
        {"minProperties": 3, "maxProperties": 6},
    ],
    ids=["open", "closed", "required", "counted"],
)
def test_masks_are_what_tokens_do(order: str, more: dict[str, Any]) -> None:
    compiler = sm.Compiler(VOCABULARY)
    compiled = compiler.compile(sm.Grammar.from_json_schema(schema(**more), property_order=order))
    for names in (NAMES, NAMES[2:], [*NAMES[::2], "list"], ["no", "nested", "list"]):
        value = {name: VALUE[name] for name in NAMES if name in names}
        follow(compiled, json.dumps(value).encode())


def test_names_are_shared_by_key_states() -> None:
    compiler = sm.Compiler(VOCABULARY)
    compiled = compiler.compile(sm.Grammar.from_json_schema(schema(), property_order="any"))
    follow(compiled, json.dumps({"no": True, "name": 1}).encode())
    before = compiled.stats()["word_walks"]
    assert before > 0
    follow(
        compiled, json.dumps({"note": "x", "no": True, "name": 1}).encode()[12:].join([b'{"note": "x"', b""])
    )
    assert compiled.stats()["word_walks"] - before <= len("note") + 3


def test_precomputed_names_need_no_walk() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(
        sm.Grammar.from_ebnf('root ::= "name" [0-9] "note" item | "no" item\nitem ::= "list" | "(" item ")"')
    )
    compiled.precompute()
    stats = compiled.stats()
    follow(compiled, b"name1note(list)")
    after = compiled.stats()
    assert (after["walks"], after["word_walks"]) == (stats["walks"], stats["word_walks"])
