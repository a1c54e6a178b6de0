"""Runs that something narrows, as keys that must not be a declared name: few tokens are taken out of the plain run's."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from exactness.walks import compare_along

import stackmask as sm

NAMES = ["na", "name", "names", "note", "nothing", "i", "if", "ü", "x-y"]


def vocabulary() -> sm.Vocabulary:
    """Return bytes, pieces of names with what can stand around them, and random words: enough for run tables."""
    rng = random.Random(7)
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens.append(None)
    words = {
        f"{a}{name}{b}" for name in NAMES for a in ("", '"', ',"', ': 1, "') for b in ("", '"', '":', '": 1')
    }
    words |= {name[:k] for name in NAMES for k in range(1, len(name))}
    words |= {name[k:] + '"' for name in NAMES for k in range(1, len(name))}
    words |= {"\\u006e", "\\u006ea", '\\u0061"', "mes", 'mes":', 'q": 1, "name', 'q": 1, "name"', '"}', "1}"}
    while len(words) < 1500:
        words.add("".join(rng.choice("namestio ,:-1éü") for _ in range(rng.randint(2, 7))))
    tokens += [word.encode() for word in sorted(words) if len(word.encode()) > 1]
    return sm.Vocabulary(tokens, stop_ids=[256])


VOCABULARY = vocabulary()


def schema(names: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "number"} for name in names}, **more}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(
    "more", [{}, {"propertyNames": {"maxLength": 5}}, {"additionalProperties": {"type": "integer"}}]
)
def test_keys_that_are_no_names(order: str, more: dict[str, Any]) -> None:
    compiler = sm.Compiler(VOCABULARY)
    compiled = compiler.compile(sm.Grammar.from_json_schema(schema(NAMES, **more), property_order=order))
    compare_along(compiled, json.dumps({"na": 1, "nam": 1, "iff": 2, "xy": 3}).encode(), 2)
    compare_along(compiled, json.dumps({"nas": 1, "nota": 2}).encode())
    assert compiled.stats()["drops"] == 0


def test_many_names_and_strings_that_are_none() -> None:
    compiler = sm.Compiler(VOCABULARY)
    names = sorted(
        {f"{a}{b}{c}" for a in "namest" for b in "oei1" for c in ("", "n", "ma", "st", "t1", "xxl")}
    )
    compiled = compiler.compile(sm.Grammar.from_json_schema(schema(names)))
    compare_along(compiled, b'{"nom": 1, "teste": 2}')
    forbidden = {"type": "string", "not": {"enum": names[:20]}, "maxLength": 9}
    compiled = compiler.compile(sm.Grammar.from_json_schema({"type": "array", "items": forbidden}))
    compare_along(compiled, b'["noma", "namestoi", ""]', 2)


def test_masks_stay_when_all_are_dropped() -> None:
    compiler = sm.Compiler(VOCABULARY, cache_bytes=100_000)
    for k in range(3):
        compiled = compiler.compile(sm.Grammar.from_json_schema(schema(NAMES[k:])))
        compare_along(compiled, b'{"nam": 1, "q": 1, "nothin": 1}', 3)
    assert compiled.stats()["drops"] > 0


@pytest.mark.parametrize(
    "texts",
    [
        '"na" | "nam" | ""',
        '"na" ("me" | "mes" | "") | "no" ["t] "e"',
        '"nam\\\\" | "\\\\" | "\\\\u" | "na\\\\u006"',  # these end inside of a character
        '("n" | "\\\\u006e") ("a" | "\\\\u0061") | "\\\\n" | "ü" | [n] [ao] [mt]',
        '"n" [a-m]* | "if"',  # no list of texts
    ],
)
@pytest.mark.parametrize("low", [0, 1, 3])
@pytest.mark.parametrize("behind", ['"\\""', '"\\"" ws ":" ws number', '("\\"" | "\\":") number?'])
def test_texts_that_a_run_must_not_be(texts: str, low: int, behind: str) -> None:
    source = f"""
        root ::= "{{" (string ",")* string "}}"
        string ::= "\\"" (char{{{low},}} & !({texts})) {behind}
        char ::= [^"\\\\\\x00-\\x1f] | "\\\\" (["\\\\n] | "u" [0-9a-f]{{4}})
        number ::= [0-9]+
        ws ::= [ ]{{0,3}}
    """
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(source))
    number = "7" if "number" in behind else ""
    quote = '": ' if "ws" in behind else '"'
    text = ",".join(f'"{name}{quote}{number}' for name in ("namest", "xyz", "nam\\u0065x", "noti", "if-\\n"))
    compare_along(compiled, ("{" + text).encode())


def test_texts_under_a_restriction() -> None:
    source = """
        root ::= (word ";")+
        word ::= "<" (letter* & !("na" | "if" | "name")) ">" number
        letter ::= [a-zü-]
        number ::= [0-9]+ !>>[0-9] | "i" !>>[f]
    """
    grammar = sm.Grammar.from_ebnf(source)
    compare_along(sm.Compiler(VOCABULARY).compile(grammar), b"<nam>12;<iff>7;<-ma>i;")


@pytest.mark.parametrize(
    "grammar",
    [
        'root ::= [a-z_] [a-z0-9_]* "="',
        'root ::= (([a-z_] [a-z0-9_]*) & !("if" | "name" | "x1")) ("=" | ",")',
        'root ::= ([a-z0-9_]+ & !("if" | "name" | "1e")) "=" [a-z] [a-z0-9]{2,5} ":"',
        'root ::= "\\"" (([a-z] [a-z -]*) & !([a-z]* "es")) "\\":"',
    ],
)
def test_names_that_begin_with_fewer_characters(grammar: str) -> None:
    """Names are runs that are narrowed in their first character, and may be narrowed by texts besides."""
    for text in (b"name=", b"x1,", b'"names":', b"note=nothing:"):
        compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(grammar))
        for end in range(len(text), 0, -1):
            if compiled.matcher().accept_string(text[:end]):
                compare_along(compiled, text[:end])
                break
        compare_along(compiled, b"")


@pytest.mark.parametrize(
    "behind",
    [
        'root ::= "{" word more\nmore ::= "}" | "(" more ")"',
        'root ::= "{" item "}"\nitem ::= ":" word',
        'root ::= "{" item "}"\nitem ::= ":" word more?\nmore ::= "=" | "(" more ")"',
        'root ::= @scope(@push([a-c]) "{" item "}" @top)\nitem ::= ":" word',
    ],
)
@pytest.mark.parametrize("run", ["[a-z]{1,30}", "[a-z]*", "[a-z]{0,4}"])
def test_runs_that_may_be_empty_but_for_a_pattern(behind: str, run: str) -> None:
    """What calls and returns lead to behind the run is not behind the beginning of the pattern."""
    source = f'{behind}\nword ::= {run} & ([a-f] | "u0"){{4}}'
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(source))
    for text in (b"{eabe", b"{:eabe", b"c{:eabe}c"):
        matcher = compiled.matcher()
        if matcher.accept_string(text):
            compare_along(compiled, text)
