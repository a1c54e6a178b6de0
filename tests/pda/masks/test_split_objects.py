"""Key tests, loops and undeclared keys in prefixes: masks are what tokens do, whatever came before."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from exactness.walks import compare_along, engine_mask
from support.campaign import mostly_campaign

import stackmask as sm


def vocabulary() -> sm.Vocabulary:
    """Return bytes, and pieces of objects that hold whole keys, two keys, escapes and blanks."""
    rng = random.Random(7)
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens.append(None)
    words = {
        lead + text
        for lead in ("", " ", ", ", ",", ",\n ", "1,", "1, ")
        for text in (
            '"',
            '"q',
            '"q"',
            '"q":',
            '"u":1',
            '"q":1,"q":',
            '"u":1,"q":1,"',
            '"\\u0071"',
            '"a',
            '"na"',
            '""',
            '"":',
        )
    }
    words |= {
        '":',
        '": ',
        '":1',
        '":1,"',
        "}",
        " }",
        "1}",
        '"}',
        '{"q":',
        '{"',
        "]",
        ",1",
        ", 1",
        "],",
        '],"q":',
        "[1,",
    }
    words |= {'q":1,"', 'q": 1, "u": 1', 'u0071":', '\\u0071":1,"q"', "true", "12", "2,", "  ", "\n  ", "   "}
    while len(words) < 500:
        words.add("".join(rng.choice('naqu1 ,:"}]{[\n\\') for _ in range(rng.randint(2, 6))))
    tokens += [word.encode() for word in sorted(words) if len(word) > 1]
    return sm.Vocabulary(tokens, stop_ids=[256])


VOCABULARY = vocabulary()
NUMBER = {"type": "number"}
KINDS: dict[str, dict[str, Any]] = {
    "open": {"properties": {"na": NUMBER, "a": {"type": "string"}}},
    "free": {},
    "typed": {"properties": {"na": NUMBER}, "additionalProperties": NUMBER, "required": ["na"]},
    "counted": {"properties": {"na": NUMBER, "q": NUMBER}, "minProperties": 2, "maxProperties": 4},
    "lists": {
        "properties": {
            "a": {"type": "array", "items": NUMBER},
            "na": {"items": {"properties": {"q": NUMBER}}},
        }
    },
    "named": {"additionalProperties": NUMBER, "propertyNames": {"maxLength": 3}},
    "closed": {
        "properties": dict.fromkeys(("a", "na", "q", "u", "nb"), NUMBER),
        "additionalProperties": False,
    },
    "inside": {
        "additionalProperties": {"type": "object", "additionalProperties": NUMBER},
        "minProperties": 1,
    },
}
TEXTS = [
    '{"q":1,"u":1, "na": 1, "a": "q", "":12}',
    '{"u": 1, "q": 1,\n "\\u0061\\u0061": [1, 2], "na": 1}',
    '{"na":1,"q":{"q":1,"u":{"q":1}},"u":{}}',
    '{"a": [1, 1,12], "na": [{"q": 1, "u": 1}, {"u": 1}]}',
    '{ "q" : 1 , "aq" : 1 , "na" : 12 , "u" : 1 }',
]


def follow(compiled: sm.CompiledGrammar, text: bytes, seed: int) -> int:
    """Compare masks as far as the grammar takes a text, with what is tried, a rollback and a fork; say how far."""
    matcher = compiled.matcher()
    taken = 0
    while taken < len(text) and matcher.accept_token(text[taken]):
        taken += 1
    compare_along(compiled, text[:taken], 2)
    rng = random.Random(seed)
    matcher = compiled.matcher()
    for byte in text[:taken]:
        allowed = engine_mask(matcher, VOCABULARY.size)
        going_on = sorted(allowed - {256})
        longest = max(going_on, key=lambda token: len(VOCABULARY.tokens[token] or b""))
        for token in (longest, rng.choice(going_on)):
            fork = matcher.fork()
            assert fork.accept_token(token)
            assert matcher.accept_token(token)
            assert engine_mask(fork, VOCABULARY.size) == engine_mask(matcher, VOCABULARY.size)
            matcher.rollback(1)
            assert engine_mask(matcher, VOCABULARY.size) == allowed
        assert matcher.accept_token(byte)
    return taken


@pytest.mark.parametrize("order", mostly_campaign(["any", "schema"], 1))
@pytest.mark.parametrize("cache", mostly_campaign([None, 60_000], 1))
def test_objects_with_undeclared_keys(order: str, cache: int | None) -> None:
    compiler = sm.Compiler(VOCABULARY) if cache is None else sm.Compiler(VOCABULARY, cache_bytes=cache)
    far = 0
    for number, kind in enumerate(KINDS.values()):
        grammar = sm.Grammar.from_json_schema({"type": "object", **kind}, property_order=order)
        compiled = compiler.compile(grammar)
        for text in TEXTS:
            far += follow(compiled, text.encode(), number)
    assert far > 800
    if cache is not None:
        assert compiled.stats()["drops"] > 0


def test_a_key_that_is_used_is_refused_in_every_token_that_spells_it() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(
        sm.Grammar.from_json_schema({"type": "object", "additionalProperties": NUMBER})
    )
    numbers = {text: token for token, text in enumerate(VOCABULARY.tokens)}
    for text, again in (
        (b'{"q":1', b',"q"'),
        (b'{"q":1', b', "\\u0071"'),
        (b'{"q":1,', b' "q":'),
        (b'{"q":1, ', b'"q"'),
    ):
        matcher = compiled.matcher()
        assert matcher.accept_string(text.replace(b"q", b"a"))
        assert numbers[again] in engine_mask(matcher, VOCABULARY.size)
        matcher = compiled.matcher()
        assert matcher.accept_string(text)
        assert numbers[again] not in engine_mask(matcher, VOCABULARY.size)


@pytest.mark.parametrize("names", [3, 70, 140])
@pytest.mark.parametrize("order", ["schema", "any"])
def test_objects_of_many_optional_names(names: int, order: str) -> None:
    rng = random.Random(names)
    keys = sorted({"".join(rng.choice("naqu1") for _ in range(4)) for _ in range(names)})
    kinds: list[dict[str, Any]] = [NUMBER, {"type": "string"}, {"type": "array", "items": NUMBER}, {}]
    schema = {"type": "object", "properties": {key: kinds[n % 4] for n, key in enumerate(keys)}}
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_json_schema(schema, property_order=order))
    values = [1, "q", [1, 12], None]
    for step in (1, 2):
        value = {key: values[n % 4] for n, key in enumerate(keys)}
        picked = {key: value[key] for key in keys[:: step * max(1, len(keys) // 3)]}
        text = json.dumps(picked).encode()
        assert follow(compiled, text, step) == len(text)


LOOPS = [
    'root ::= "{" (" "? "," " "* [a-z]+ ":" [0-9]+)* (";" root)? "}"',
    'root ::= ("," " "* item)* ("," " "* [a-z]+ "]")? "}"\nitem ::= "q" item? | "u" [0-9]*',
    'root ::= ("," " "* item){2,4} (" " item)* !>> [q] "}"?\nitem ::= "q" | "u" item | [0-9]+ !>> [0-9]',
    'root ::= (" "* "," " "* "q" ":" [0-9]+)? (" "* "," " "* "u" item*)? (" "* "," item)* " "* "}"\nitem ::= "a" | "n" "a"?',
    'root ::= [0-9]+ ("." [0-9]+)? (" "* "," " "* [0-9]+)* (" "* item)? "]"\nitem ::= "q" root | "u"',
    "root ::= (item ',')* item?\nitem ::= 'q' (' '* 'u' item)* | '[' (item (',' ' '* item)*)? ']'",
]


@pytest.mark.parametrize("cache", [None, 40_000])
def test_loops(cache: int | None) -> None:
    compiler = sm.Compiler(VOCABULARY) if cache is None else sm.Compiler(VOCABULARY, cache_bytes=cache)
    for number, grammar in enumerate(LOOPS):
        compiled = compiler.compile(sm.Grammar.from_ebnf(grammar))
        for seed in range(4):
            rng = random.Random(10 * number + seed)
            matcher = compiled.matcher()
            text = b""
            while len(text) < 24:
                allowed = sorted(engine_mask(matcher, VOCABULARY.size) - {256})
                if not allowed:
                    break
                token = rng.choice(allowed)
                assert matcher.accept_token(token)
                text += VOCABULARY.tokens[token] or b""
            follow(compiled, text, seed)
