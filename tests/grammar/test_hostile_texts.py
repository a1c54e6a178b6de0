"""Whatever a request holds, its error is short, has no control characters, and is one of the library's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import stackmask as sm
from stackmask.grammar.source.diagnostics import MAX_RUN, presentable

HOSTILE = "\x1b]0;x\x07\x9b\u202e\ud800" + "A" * 30_000

FRONT_ENDS: dict[str, Callable[[Any], object]] = {
    "ebnf": sm.Grammar.from_ebnf,
    "literal": lambda text: sm.Grammar.from_ebnf(f'root ::= "{text}'),
    "rule": lambda text: sm.Grammar.from_ebnf(f"root ::= a{text}"),
    "start": lambda text: sm.Grammar.from_ebnf('root ::= "a"', text),
    "name": lambda text: sm.Grammar.from_ebnf("root ::= x", name=text),
    "file": lambda text: sm.Grammar.from_file(f"/nowhere/{text}"),
    "bundled": sm.Grammar.bundled,
    "kind": sm.Grammar.json,
    "regex": lambda text: sm.Grammar.from_regex(f"({text}"),
    "property of characters": lambda text: sm.Grammar.from_regex(f"\\p{{{text}}}"),
    "flags": lambda text: sm.Grammar.from_regex("a", flags=text),
    "flavour": lambda text: sm.Grammar.from_regex("a", flavor=text),
    "reference": lambda text: sm.Grammar.from_json_schema({"$ref": f"#/{text}"}),
    "document": lambda text: sm.Grammar.from_json_schema({"$id": f"http://x/{text}", "$ref": text}),
    "dynamic reference": lambda text: sm.Grammar.from_json_schema({"$dynamicRef": f"#{text}"}),
    "key": lambda text: sm.Grammar.from_json_schema({"properties": {text: {"type": text}}}),
    "dialect of a schema": lambda text: sm.Grammar.from_json_schema({"$schema": text}),
    "type": lambda text: sm.Grammar.from_json_schema({"type": text}),
    "draft": lambda text: sm.Grammar.from_json_schema(True, draft=text),
    "spelling": lambda text: sm.Grammar.from_json_schema(True, spelling=text),
    "dialect": sm.Grammar.from_sql,
    "tables": lambda text: sm.Grammar.from_sql("sqlite", schema=text),
    "lark": sm.Grammar.from_lark,
    "lark rule": lambda text: sm.Grammar.from_lark(f"start: a{text}"),
    "lark string": lambda text: sm.Grammar.from_lark(f'start: "{text}'),
    "choices": lambda text: sm.Grammar.from_choices(["a", "\ud800" + str(text)]),
}


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("text", [HOSTILE, HOSTILE.replace("A", " A"), HOSTILE.replace("A", "\n")])
def test_errors_are_short_and_plain(front_end: str, text: str) -> None:
    with pytest.raises(sm.StackmaskError) as caught:
        FRONT_ENDS[front_end](text)
    message = str(caught.value)
    assert 0 < len(message) <= 10_000
    assert all(c.isprintable() or c == "\n" for c in message)


@pytest.mark.parametrize(
    "front_end", ["ebnf", "lark", "start", "regex", "flavour", "flags", "bundled", "dialect", "kind"]
)
@pytest.mark.parametrize("value", [b"x", 3.5, object()])
def test_what_is_no_text_is_refused_by_name(front_end: str, value: object) -> None:
    make = sm.Grammar.from_regex if front_end == "regex" else FRONT_ENDS[front_end]
    if front_end == "regex" and isinstance(value, bytes):
        pytest.skip("patterns of bytes are patterns")
    with pytest.raises(sm.StackmaskError):
        make(value)


@pytest.mark.parametrize("value", [None, 3.5, [], b"x"])
def test_paths(value: Any) -> None:
    with pytest.raises(sm.StackmaskError, match="a path is"):
        sm.Grammar.from_file(value)


def test_messages_keep_their_lines() -> None:
    assert presentable("a `b`:\n  c\td") == "a `b`:\n  c d"
    assert presentable("ä\x1b[2J\x00\u202e") == "ä\\x1b[2J\\x00\\u202e"
    assert presentable("no `" + "x" * 500 + "` here") == "no `" + "x" * (MAX_RUN - 1) + "… here"


def test_conditions_that_lead_to_themselves_or_are_many() -> None:
    itself = {
        "$ref": "#/$defs/x",
        "$defs": {"x": {"propertyNames": {"$dynamicRef": "#"}, "$dynamicRef": "#"}},
    }
    with pytest.raises(sm.StackmaskError):
        sm.Grammar.from_json_schema(itself)
    for keyword in ("anyOf", "oneOf"):
        ways = [{"pattern": f"^.{{0,{i}}}x"} for i in range(500)]
        try:
            sm.Grammar.from_json_schema({"type": "string", keyword: ways})
        except sm.StackmaskError as error:
            assert str(error)


def test_rules_with_operands_that_are_written_out_too_deeply() -> None:
    rules = "".join(f"r{i} ::= r{i + 1} & [a-z]*\n" for i in range(1500))
    with pytest.raises(sm.GrammarError, match="G1"):
        _ = sm.Grammar.from_ebnf(f'root ::= r0\n{rules}r1500 ::= "b"').normalized
