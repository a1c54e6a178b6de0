"""What may be empty and comes first: blanks before names, digits before what follows a number. Masks are what tokens do."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from exactness.walks import compare_along, engine_mask

import stackmask as sm

NAMES = ["na", "name", "note", "i", "if"]


def vocabulary() -> sm.Vocabulary:
    """Return bytes, blanks of many lengths with what can stand behind them, and pieces of objects."""
    rng = random.Random(11)
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens.append(None)
    words = {" " * k for k in range(2, 9)} | {"\n" + " " * k for k in range(5)} | {"\t\t", " \t ", "  \n\n"}
    words |= {
        blank + text
        for blank in ("", " ", "  ", "\n ", "     ")
        for text in (
            '"',
            '"na',
            '"name"',
            '"q"',
            '"q":',
            '": ',
            ":",
            ": 1",
            ":1,",
            "1, ",
            "}",
            '"}',
            "12",
            "]",
            ",",
        )
    }
    words |= {
        '1,"',
        '1, "na',
        '1,\n "q":',
        '2,"q":1,"',
        '0."',
        "0.5",
        "5e",
        "5e1,",
        "7}",
        '7, "if"',
        '","',
        '"},{"',
        "e",
    }
    words |= {f'{name}": ' for name in NAMES} | {
        'u": 1, "u"',
        'q": 1, "na',
        'q": 2, "q": 1',
        '\\u0071": 1, "',
        "75]",
    }
    while len(words) < 700:
        words.add("".join(rng.choice('naq1 ,:-"}\n.e') for _ in range(rng.randint(2, 6))))
    tokens += [word.encode() for word in sorted(words) if len(word) > 1]
    return sm.Vocabulary(tokens, stop_ids=[256])


VOCABULARY = vocabulary()


def follow(compiled: sm.CompiledGrammar, text: bytes, every: int = 1) -> None:
    """Compare masks along a text with what happens when each token is tried, and with those after a rollback."""
    compare_along(compiled, text, every)
    matcher = compiled.matcher()
    for number, byte in enumerate(text):
        if number % every == 0:
            allowed = engine_mask(matcher, VOCABULARY.size)
            going_on = sorted(allowed - {256})
            if going_on:
                assert matcher.accept_token(going_on[number % len(going_on)])
                engine_mask(matcher, VOCABULARY.size)
                matcher.rollback(1)
            assert engine_mask(matcher, VOCABULARY.size) == allowed, text[:number]
        assert matcher.accept_token(byte)


def schema(names: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "number"} for name in names}, **more}


TEXT = json.dumps({"na": 12.5, "q": 1, "name": 0, "u": -3e10, "if": 7, "nb": 0.25}, indent=1).encode()


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("cache", [None, 100_000])
def test_objects_of_several_schemas(order: str, cache: int | None) -> None:
    compiler = sm.Compiler(VOCABULARY) if cache is None else sm.Compiler(VOCABULARY, cache_bytes=cache)
    kinds: list[dict[str, Any]] = [
        schema(NAMES),
        schema(NAMES[:2], additionalProperties={"type": "number"}),
        schema(["na", "name", "if"], required=["name"], maxProperties=6),
        schema([*NAMES, "q", "u", "nb"], additionalProperties=False),
        schema(["na", "if"], propertyNames={"maxLength": 4}),
        {"anyOf": [schema(["na", "q"]), schema(["name", "u"], additionalProperties={"type": "integer"})]},
    ]
    for kind in kinds:
        compiled = compiler.compile(sm.Grammar.from_json_schema(kind, property_order=order))
        if compiled.matcher().accept_string(TEXT):
            follow(compiled, TEXT, 2)
        follow(compiled, b"{ ")
    if cache is not None:
        assert compiled.stats()["drops"] > 0


def test_numbers_and_what_follows_them() -> None:
    compiler = sm.Compiler(VOCABULARY)
    for items in ({"type": "number"}, {"type": ["number", "null"]}, {"type": "number", "multipleOf": 0.5}):
        for kind in ({"type": "array", "items": items}, {"type": "array", "items": items, "maxItems": 3}):
            follow(
                compiler.compile(sm.Grammar.from_json_schema(kind)),
                b"[ 12.50, -0.5e1 ,75]"[: 20 if len(items) == 1 else 8],
            )
    objects = {"type": "array", "items": schema(NAMES)}
    follow(compiler.compile(sm.Grammar.from_json_schema(objects)), b'[{"na":0, "q": 1.5e3}, {"if" :12 }]')


@pytest.mark.parametrize("low", [0, 1, 2])
@pytest.mark.parametrize("high", [3, 6])
@pytest.mark.parametrize(
    "item",
    [
        '"\\"" [a-z]+ "\\""',
        'ws ":"',
        '"\\"" ("na" ":" item | "if" item)',
        '[0-9]* ("." [0-9]+)? ("e" [0-9]+)? ":"',
    ],
)
def test_counted_blanks(low: int, high: int, item: str) -> None:
    compiler = sm.Compiler(VOCABULARY)
    for k in range(6):
        source = f"""
            root ::= "{k}" (blanks item ",")* blanks item
            item ::= name | "[" root "]" | {item}
            name ::= "q" [0-9]{{1,{k + 1}}}
            blanks ::= [ \\n]{{{low},{high}}}
            ws ::= [ ]{{0,2}}
        """
        blank = b"  " if low else b" "
        text = b"%d" % k + blank + b"q1," + blank + b"[%d" % k + blank + b" q7]"
        follow(compiler.compile(sm.Grammar.from_ebnf(source)), text, 1 if k > 3 else 5)


def test_blanks_beside_a_restricted_grammar() -> None:
    compiler = sm.Compiler(VOCABULARY)
    restricted = 'root ::= ([ ]{0,3} word)+\nword ::= [a-q]+ !>>[a-q] | "1" !>>[0-9]\n'
    follow(compiler.compile(sm.Grammar.from_ebnf(restricted)), b"naq  e 1 na")
    for names in (NAMES, NAMES[1:], NAMES[2:], ["q"], ["u", "na"]):
        follow(
            compiler.compile(sm.Grammar.from_json_schema(schema(names))), b'{\n "na":2, "y": 1,\n  "x": 0}', 2
        )


@pytest.mark.parametrize("blanks", ["[ \\n]*", "[ ]{1,2}", "[ \\n]{0,3}"])
@pytest.mark.parametrize(
    "behind",
    [
        '("q" (([^a-z]{2,4}) - [0-9]+) | (([^a-z]{2,4}) - [0-9]+) | "n" !>> [a])',
        '("x" | (([^a-z]{4}) - ([a-c])) | "z" !>> [a-z]) ("=" | "z")',
        '((([^a-z]{4}) - [0-9]+) "n"+ | "n" item | "x" !>> [a])',
    ],
)
def test_what_follows_blanks_may_begin_with_one(blanks: str, behind: str) -> None:
    compiler = sm.Compiler(VOCABULARY)
    item = 'item ::= "n" item "n" | (([^a-z]{2,4}) - [0-9]+)'
    for space in ("[ ]*", "[ \\n]*"):
        for letter in "abcdefgh":  # until the runs of blanks are made
            compiled = compiler.compile(sm.Grammar.from_ebnf(f'root ::= {space} "{letter}" item {item}'))
            follow(compiled, b" ")
    follow(compiler.compile(sm.Grammar.from_ebnf(f'root ::= {blanks} {behind} "." {item}')), b"    ")
