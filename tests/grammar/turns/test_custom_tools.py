"""Custom tools of OpenAI's interface: text, patterns, grammars."""

from __future__ import annotations

from typing import Any

import pytest

import stackmask as sm
from stackmask import tools

STYLE = tools.ToolStyle((("<<{name}: ", ">>"),), arguments="text", trigger="<<")
ZIP = {
    "type": "custom",
    "name": "zip",
    "format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]{2}|a>>b"},
}
NOTE = {
    "type": "custom",
    "custom": {"name": "note", "description": "Write it down.", "format": {"type": "text"}},
}


def test_arguments_that_are_text() -> None:
    made = tools.grammar(STYLE, [ZIP, NOTE], reasoning="off")
    assert made.accepts("Look: <<zip: 12>> and <<note: what is > that>>.")
    assert not made.accepts("<<zip: 1>>")
    turn = tools.parse(STYLE, "<<zip: a>>b>><<note: x>>", tools=[ZIP, NOTE])
    assert [call.arguments for call in turn.calls] == [{"input": "a>>b"}, {"input": "x"}]


def test_arguments_in_json() -> None:
    for style, call in (
        ("hermes", '<tool_call>\n{"name": "%s", "arguments": {"input": "%s"}}\n</tool_call>'),
        (
            "qwen_3_coder",
            "<tool_call>\n<function=%s>\n<parameter=input>%s</parameter>\n</function>\n</tool_call>",
        ),
    ):
        made = tools.grammar(style, [ZIP, NOTE], reasoning="off")
        assert made.accepts(call % ("zip", "12"))
        assert made.accepts(call % ("note", "12 x"))
        assert not made.accepts(call % ("zip", "12x"))
        assert tools.parse(style, call % ("zip", "12"), tools=[ZIP]).calls[0].arguments == {"input": "12"}


def test_a_grammar_as_format() -> None:
    sql = sm.Grammar.from_sql("sqlite", schema="CREATE TABLE shop(city TEXT)")
    run = {"type": "custom", "name": "run", "format": sql}
    assert tools.grammar(STYLE, [run]).accepts("<<run: SELECT city FROM shop>>")
    assert not tools.grammar(STYLE, [run]).accepts("<<run: SELECT town FROM shop>>")
    with pytest.raises(tools.ToolError, match="/tools/0/grammar: its argument is text of a grammar"):
        tools.grammar("hermes", [run])


@pytest.mark.parametrize(
    ("custom", "message"),
    [
        ({}, "no `name`"),
        ({"name": "a", "formt": 1}, "/formt: a custom tool has no `formt`; did you mean `format`?"),
        ({"name": "a", "format": {"type": "json"}}, "/format/type: 'json' is not one of text, grammar"),
        (
            {"name": "a", "format": {"type": "grammar", "syntax": "lark"}},
            "/format/definition: a string is needed, not NoneType",
        ),
        (
            {"name": "a", "format": {"type": "grammar", "syntax": "sql"}},
            "/format/syntax: 'sql' is not one of regex, lark",
        ),
        (
            {"name": "a", "format": {"type": "grammar", "grammar": {"syntax": "regex"}}},
            "/format/grammar/definition: a string is needed, not NoneType",
        ),
        (
            {"name": "a", "format": {"type": "text", "syntx": "x"}},
            "/format/syntx: a text format has no `syntx`",
        ),
        (
            {"name": "a", "format": {"type": "grammar", "syntax": "regex", "definition": "a", "defs": 1}},
            "/format/defs: a grammar format has no `defs`; there are type, syntax, definition",
        ),
        (
            {"name": "a", "format": {"type": "grammar", "grammar": {"syntx": "regex", "definition": "a"}}},
            "/format/grammar/syntx: a grammar format has no `syntx`; did you mean `syntax`?",
        ),
        (
            {"custom": {"name": "a"}, "name": "b"},
            "/name: a custom tool has no `name`; there are type, custom",
        ),
    ],
)
def test_what_is_refused(custom: dict[str, Any], message: str) -> None:
    with pytest.raises(tools.ToolError) as caught:
        tools.grammar("hermes", [{"type": "custom", **custom}])
    assert message in str(caught.value)
    assert str(caught.value).count("/tools/0") == 1


def test_a_pattern_that_is_none() -> None:
    broken = {
        "type": "custom",
        "name": "a",
        "format": {"type": "grammar", "syntax": "regex", "definition": "a("},
    }
    with pytest.raises(tools.ToolError, match="at /tools/0/format/definition: unclosed group at character 2"):
        tools.grammar("hermes", [broken])


def test_a_grammar_in_lark() -> None:
    definition = 'start: "SELECT " NAME\nNAME: /[a-z]+/\n'
    run = {
        "type": "custom",
        "name": "run",
        "format": {"type": "grammar", "syntax": "lark", "definition": definition},
    }
    made = tools.grammar(STYLE, [run], reasoning="off")
    assert made.accepts("Look: <<run: SELECT city>>")
    assert not made.accepts("<<run: SELECT 1>>")
    assert tools.parse(STYLE, "<<run: SELECT a>>", tools=[run]).calls[0].arguments == {"input": "SELECT a"}


def test_a_grammar_in_lark_with_an_error() -> None:
    definition = 'start: "a"\nother: itme'
    broken = {
        "type": "custom",
        "name": "a",
        "format": {"type": "grammar", "syntax": "lark", "definition": definition},
    }
    message = "at /tools/0/format/definition: undefined rule `itme` in line 2, column 8 \\(G003\\)"
    with pytest.raises(tools.ToolError, match=message):
        tools.grammar(STYLE, [broken])
