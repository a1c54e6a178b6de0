"""``Grammar.accepts`` and ``Grammar.sample``: whole strings."""

from __future__ import annotations

import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from support.campaign import mostly_campaign

import stackmask as sm
from stackmask.grammar import ir, whole_strings
from stackmask.runtime.matching import compiler as compiling
from stackmask.runtime.strings import engine
from stackmask.runtime.strings.engine import BYTE, NEVER, Costs

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 5, "multipleOf": 7},
        "when": {"type": "string", "format": "date-time"},
        "tags": {
            "type": "array",
            "items": {"pattern": "^[a-z]{3,}$", "type": "string"},
            "uniqueItems": True,
            "minItems": 2,
        },
        "more": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["id", "tags"],
    "additionalProperties": False,
}
MANY_KEYS = {
    "type": "object",
    "required": ["shape", "width", "height", "depth", "colour"],
    "properties": {"inner": {"type": "object", "required": ["a", "b"]}},
    "minProperties": 7,
}
DDL = "CREATE TABLE shop(id INT, name TEXT); CREATE TABLE sale(shop INT, price REAL);"
GRAMMARS: dict[str, sm.Grammar] = {
    **{name: sm.Grammar.bundled(name) for name in ("arithmetic", "csv", "indented", "json", "lua", "regex", "xml")},
    "schema": sm.Grammar.of(SCHEMA),
    "keys in any order": sm.Grammar.of(MANY_KEYS),
    "any JSON": sm.Grammar.json(),
    "pattern": sm.Grammar.from_regex("^(?=.*[0-9])(?!.*aa)[a-z0-9]{8,12}$"),
    "choices": sm.Grammar.of(["yes", "no", "", "é🎉"]),
    "no keywords": sm.Grammar.from_ebnf('root ::= name (" " name){3}\nname ::= [a-c]+ - ("a" | "ab" | "abc")'),
    "complement": sm.Grammar.from_ebnf('root ::= "<t>" !(.* "</t>" .*) "</t>"'),
    "only conditions": sm.Grammar.from_ebnf("root ::= !(.{0,6}) & [a-z]*"),
    "left recursion": sm.Grammar.from_ebnf('root ::= root [+*] root | [0-9] | "(" root ")"'),
    "what was written": sm.Grammar.from_ebnf('root ::= "<" @push([a-z]{1,3}) ">" (root | "x") "</" @top ">"'),
    "skipped blanks": sm.Grammar.from_ebnf('root ::= ("let" !>> [a-z]) NAME "=" NAME\nNAME ::= [a-z]+\n%skip " "'),
    "bytes": sm.Grammar.from_regex(b"[\x00-\xff]{3}"),
    "tools": sm.tools.grammar("qwen_3", [{"name": "w", "parameters": SCHEMA}]),
    "tag": sm.tag("<a>", sm.text(max_chars=9), "</a>"),
    "long": sm.Grammar.of({"type": "string", "minLength": 300}),
}  # fmt: skip


@pytest.mark.parametrize("name", mostly_campaign(GRAMMARS, 6))
def test_samples_are_texts_of_the_grammar(name: str) -> None:
    grammar = GRAMMARS[name]
    texts = grammar.sample(12, seed=3)
    assert len(texts) == 12
    assert all(
        grammar.accepts(text) and len(text.encode("utf-8", "surrogateescape")) <= 10_000 for text in texts
    )
    assert texts == grammar.sample(12, seed=3)
    if name != "choices":
        assert len(set(texts)) > 2 and texts != grammar.sample(12, seed=4)


SIZES = ("arithmetic", "csv", "indented", "json", "lua", "regex", "xml")
LEAVES: tuple[Any, ...] = (
    True,
    {"type": "integer"},
    {"type": "number", "minimum": 5},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "uuid"},
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 2},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"], "minProperties": 4},
    {"enum": ["a", 1, None]},
    {"type": "string", "pattern": "^[a-z]{3,}$"},
    {"anyOf": [{"type": "object"}, {"type": "array"}]},
    {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
    SCHEMA,
)


@pytest.mark.parametrize("number", mostly_campaign(range(len(SIZES) + len(LEAVES)), 6))
def test_every_seed_draws_a_string(number: int) -> None:
    named = number < len(SIZES)
    grammar = (
        sm.Grammar.bundled(SIZES[number]) if named else sm.Grammar.of(_schema(LEAVES[number - len(SIZES)]))
    )
    assert all(grammar.accepts(grammar.sample(1, seed=seed)[0]) for seed in range(31))


def _schema(leaf: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"v": leaf}, "required": ["v"], "additionalProperties": False}


def test_the_length_is_shared_among_the_rules() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    item["additionalProperties"] = False
    schema = _schema({"type": "array", "items": item, "minItems": 4, "maxItems": 4})
    texts = sm.Grammar.of(schema).sample(31)
    lengths = [[len(each["name"]) for each in json.loads(text)["v"]] for text in texts]
    assert all(sum(1 for each in lengths if each[place]) > 5 for place in range(4))


def test_grammars_with_special_tokens_have_the_strings_without_them() -> None:
    assert set(sm.Grammar.from_ebnf('root ::= "a" <|call|>? "b"').sample(5)) == {"ab"}


def test_samples_are_valid_values() -> None:
    for text in GRAMMARS["schema"].sample(20):
        value = json.loads(text)
        assert value["id"] % 7 == 0 and len(set(value["tags"])) == len(value["tags"]) >= 2
    for text in GRAMMARS["pattern"].sample(20):
        assert re.fullmatch("(?=.*[0-9])(?!.*aa)[a-z0-9]{8,12}", text)
    assert set(sm.Grammar.of(Literal["a", "b"]).sample(30)) == {'"a"', '"b"'}


@pytest.mark.campaign
def test_queries_run() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(DDL)
    texts = sm.Grammar.from_sql("sqlite", schema=DDL, functions=["count"]).sample(15, seed=1)
    for text in texts:
        connection.execute("EXPLAIN " + text.partition(";")[0]).close()
    assert any(re.search("(?i)select", text) for text in texts)


def test_recursion_ends() -> None:
    grammar = sm.Grammar.from_ebnf('root ::= "[" (root ","){3} root "]" | "[" root "]" | "x"')
    texts = grammar.sample(40)  # of 10,000 bytes at most; each ends soon after the length that it aims at
    assert max(map(len, texts)) <= 400 and len(set(texts)) > 3


def test_a_string_that_is_long_enough_takes_no_more_options() -> None:
    properties = {name: {"type": "string", "minLength": 60} for name in "abcdef"}
    schema = {"type": "object", "properties": properties, "required": ["f"]}
    texts = sm.Grammar.of(schema | {"additionalProperties": {"type": "string"}}).sample(40)
    # the required property and two or three others; all six are more than 400
    assert max(map(len, texts)) <= 300 and any("a" in json.loads(text) for text in texts)


@pytest.mark.campaign
def test_max_bytes_is_kept() -> None:
    grammar = sm.Grammar.from_ebnf('root ::= "a"{3,} | "bb"')
    assert grammar.sample(5, max_bytes=2) == ["bb"] * 5
    assert {len(text) <= 4 for text in grammar.sample(20, max_bytes=4)} == {True}
    with pytest.raises(sm.SampleError, match="about 2 bytes, and max_bytes is 1"):
        grammar.sample(max_bytes=1)
    hidden = sm.Grammar.from_ebnf("root ::= !(.{0,6})")
    with pytest.raises(sm.SampleError, match=r"no string of at most 5 bytes was found \(max_bytes\)"):
        hidden.sample(max_bytes=5)
    assert sm.Grammar.from_ebnf('root ::= ""').sample(2, max_bytes=0) == ["", ""]


def test_accepts() -> None:
    class Point(BaseModel):
        x: int

    grammar = sm.Grammar.of(Point)
    assert (
        grammar.accepts('{"x": 3}') and grammar.accepts(b'{"x":3}') and grammar.accepts(bytearray(b'{"x":3}'))
    )
    assert not any(grammar.accepts(text) for text in ("", '{"x": 3', '{"x": 3}}', '{"x": "3"}'))
    any_bytes = sm.Grammar.from_regex(b"[\x80-\xff]")
    assert any_bytes.accepts(b"\xff") and any_bytes.accepts("\udcff") and not any_bytes.accepts("\ud800")
    assert sm.Grammar.from_ebnf('root ::= "a"?').accepts("")


def test_what_cannot_be_asked() -> None:
    token = sm.Grammar.from_ebnf('root ::= "a" <|call|>')
    for ask in (token.sample, lambda: token.accepts("a")):
        with pytest.raises(sm.SampleError, match="strings have no special tokens"):
            ask()
    either = sm.Grammar.from_ebnf('root ::= [ab]{2} & "ab"')
    assert either.sample() == ["ab"]
    with pytest.raises(sm.GrammarError, match="G103"):
        sm.Grammar.from_ebnf('root ::= [a-z]{2} & "a"').sample()
    wrong: list[tuple[Any, str]] = [
        (lambda: either.accepts(3), "a text is str or bytes, not int"),  # type: ignore[arg-type]
        (lambda: either.sample(-1), "`n` is -1"),
        (lambda: either.sample(seed="x"), "`seed` is 'x'"),  # type: ignore[arg-type]
        (lambda: either.sample(max_bytes=1.5), "`max_bytes` is 1.5"),  # type: ignore[arg-type]
    ]
    for ask, problem in wrong:
        with pytest.raises(sm.StackmaskError, match=problem):
            ask()


def test_limits_hold() -> None:
    grammar = sm.Grammar.from_ebnf('root ::= "[" root "]" root | "x"', limits=sm.Limits(max_work=3_000_000))
    with pytest.raises(sm.BudgetError, match="max_work"):
        while True:
            grammar.sample(1, seed=1, max_bytes=100_000) and sm.Grammar.from_ebnf(
                "root ::= [a-z]{9000}", limits=sm.Limits(max_work=1_000_000)
            ).sample()


def test_several_threads() -> None:
    grammar = GRAMMARS["schema"]
    wanted = [grammar.sample(3, seed=seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda seed: grammar.sample(3, seed=seed), range(8))) == wanted


@pytest.mark.campaign
def test_nobody_is_refused_for_memory_that_other_questions_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "LEAST_HELD", 1)
    monkeypatch.setattr(compiling, "WEIGHED", 1)
    monkeypatch.setattr(engine, "CACHE_BYTES", 105_000)
    engine._compiler.cache_clear()
    engine._compiled.cache_clear()
    try:
        # as threads hold them while they read a text
        live = [engine._matcher(GRAMMARS["json"])]
        for number in range(100):
            grammar = sm.Grammar.from_ebnf(f'root ::= "a"{{,{1000 + number}}} [0-9]{{{number}}}')
            live.append(engine._matcher(grammar))
            assert live[-1].accept_string("a" * 1000)
        assert len({matcher.compiled._compiler for matcher in live}) > 1
        assert live[0].accept_string("[1]") and live[0].is_accepting()
    finally:
        engine._compiler.cache_clear()
        engine._compiled.cache_clear()


def test_costs_are_the_least() -> None:
    rules = sm.Grammar.from_ebnf(
        'root ::= "(" root ")" | item{2,5}\nitem ::= "ab" | "é" | [x-z]\nno ::= no "a"'
    ).rules
    costs = Costs({name: rule for name, rule in rules.rules.items() if name != "no"})
    choice = BYTE + 1
    assert costs.of(rules.rules["item"].body) == choice
    assert costs.of(rules.rules["root"].body) == 2 * (choice + 1) + 2  # two rules, a repetition and a choice
    assert costs.of(ir.TokenTerminal(("x",))) == NEVER
    assert costs.copy().of(ir.Literal(b"abc")) == 3 * BYTE


def test_an_engine_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_strings, "_makers", [])
    with pytest.raises(sm.StackmaskError, match="import stackmask"):
        GRAMMARS["json"].accepts("1")


def test_the_engine_that_was_provided_last_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def accepts(self, grammar: sm.Grammar, text: str | bytes) -> bool:
            return False

        def sample(self, grammar: sm.Grammar, n: int, seed: int, max_bytes: int) -> list[str]:
            return []

    assert GRAMMARS["json"].accepts("1")
    monkeypatch.setattr(whole_strings, "_makers", list(whole_strings._makers))
    monkeypatch.setattr(whole_strings, "_made", list(whole_strings._made))
    whole_strings.provide(Refusing)
    assert not GRAMMARS["json"].accepts("1")
    assert GRAMMARS["json"].sample() == []
