"""States that are split into prefixes and continuations: masks are those of the grammar, and shared."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from exactness.walks import compare_along, engine_mask, tried_tokens

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
        compare_along(compiled, json.dumps(value).encode())


def test_names_are_shared_by_key_states() -> None:
    compiler = sm.Compiler(VOCABULARY)
    compiled = compiler.compile(sm.Grammar.from_json_schema(schema(), property_order="any"))
    compare_along(compiled, json.dumps({"no": True, "name": 1}).encode())
    before = compiled.stats()["word_walks"]
    assert before > 0
    compare_along(
        compiled, json.dumps({"note": "x", "no": True, "name": 1}).encode()[12:].join([b'{"note": "x"', b""])
    )
    assert compiled.stats()["word_walks"] - before <= len("note") + 3


def test_precomputed_names_need_no_walk() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(
        sm.Grammar.from_ebnf('root ::= "name" [0-9] "note" item | "no" item\nitem ::= "list" | "(" item ")"')
    )
    compiled.precompute()
    stats = compiled.stats()
    compare_along(compiled, b"name1note(list)")
    after = compiled.stats()
    assert (after["walks"], after["word_walks"]) == (stats["walks"], stats["word_walks"])


def test_literals_are_no_chains_of_terms() -> None:
    """A name that is a prefix is stored as one literal: its letters make no terms."""
    name = "a long name of an object that no other object has"
    properties = {name: {"type": "integer"}, name[::-1]: {"type": "boolean"}}
    compiled = sm.Compiler(VOCABULARY).compile(
        sm.Grammar.from_json_schema(
            {"properties": properties, "additionalProperties": False}, property_order="any"
        )
    )
    before = compiled.stats()["terms"]
    mask_at(compiled, b'{"')
    assert compiled.stats()["word_walks"] > 0
    assert compiled.stats()["terms"] - before < len(name)


# "a" leads to a word, after which "x" may not follow; only inside of brackets can that path end
HIDDEN = """
root ::= item "x" | item "]"? "x" "12"
item ::= "(" item ")" | "a" word | "no" "te" | "name" word ">" | "[" item
word ::= [ab]+ !>> [x\\]] | "<" word
"""


def mask_at(compiled: sm.CompiledGrammar, text: bytes) -> list[int]:
    matcher = compiled.matcher()
    assert matcher.accept_string(text)
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    matcher.fill_next_token_bitmask(mask)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: VOCABULARY.size]
    return [int(token) for token in np.flatnonzero(bits)]


def test_a_way_on_that_others_hide_is_a_dead_end() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(HIDDEN))
    assert mask_at(compiled, b"") == sorted(b"([n")
    assert ord("a") in mask_at(compiled, b"(")
    for text in (b"(a<b)x", b"[nameab>x12", b"([no", b"namebb>x", b"((note"):
        compare_along(compiled, text)


def test_a_way_on_that_nothing_can_follow_is_none() -> None:
    text = 'root ::= "c" | ("d" | (([1,] "if" [ab]+ !>> [ab1])? | [1,] "fbb") item [ab]+ !>> [ab1]) "bb" item'
    compiled = sm.Compiler(VOCABULARY).compile(
        sm.Grammar.from_ebnf(text + '\nitem ::= "x" item? | "(" item ")"')
    )
    assert mask_at(compiled, b"") == sorted(b"cd")
    compare_along(compiled, b"dbb(xx)")


def test_restricted_grammars_leave_the_heads_of_others_alone() -> None:
    mixed = sm.Compiler(VOCABULARY)
    before = mixed.compile(sm.Grammar.from_json_schema(schema(), property_order="any"))
    hidden = mixed.compile(sm.Grammar.from_ebnf(HIDDEN))
    after = mixed.compile(sm.Grammar.from_json_schema(schema(required=["no"]), property_order="any"))
    text = json.dumps(VALUE).encode()
    apart = sm.Compiler(VOCABULARY).compile(
        sm.Grammar.from_json_schema(schema(required=["no"]), property_order="any")
    )
    for end in range(len(text)):
        assert mask_at(after, text[:end]) == mask_at(apart, text[:end]), text[:end]
    compare_along(before, text)
    compare_along(hidden, b"((a<b))x")
    assert mixed.compile(sm.Grammar.from_ebnf(HIDDEN)).stats()["word_walks"] > 0


# each dependency may hold in two ways, and so at each depth
DEPENDENT = {
    "dependencies": {key: [other] for key, other in ("pq", "fq", "rs", "ts", "wz", "hi", "jk", "lm")},
    "properties": {"d": {"$ref": "#"}, "c": {"additionalProperties": {"$ref": "#"}}},
}


def test_many_readings_of_keys_are_put_together_without_running_the_vocabulary() -> None:
    compiled = sm.Compiler(VOCABULARY, limits=sm.Limits(max_semantic_states=20_000)).compile(
        sm.Grammar.from_json_schema(DEPENDENT, property_order="any")
    )
    compare_along(compiled, b'{"a":"b","c":{"x":{"d":{"p":1,"q":[],"h":{}')
    stats = compiled.stats()
    assert stats["most_visits"] > 1024
    assert stats["simulations"] < 3


@pytest.mark.parametrize(
    "rule",
    [
        '([a-z] [a-f]* | [a-z] !>> [b]) ","',
        '[a-z] ([b-c]* "!" | !>> [b])',
        '([a-z] [a-f]{0,2} | "if" | [a-z] !>> [a-z]) [ ]* ("," | "; ")',
    ],
)
def test_alternatives_behind_one_byte_of_many(rule: str) -> None:
    """What is left of one alternative begins with the same items as the next."""
    matcher = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(f"root ::= {rule}")).matcher()
    for byte in b"gb,":
        assert engine_mask(matcher, VOCABULARY.size) == tried_tokens(matcher, VOCABULARY.size)
        if not matcher.accept_token(byte):
            break
