"""Tools whose only argument is a text of a grammar: SQL, a pattern."""

from __future__ import annotations

import random

import pytest

import stackmask as sm
from stackmask import tools

STYLE = tools.ToolStyle((("<<{name}: ", ">>"),), arguments="text", trigger="<<")
SQL = sm.Grammar.from_sql("sqlite", functions=["count"], blanks="single")


def query(sql: str) -> str:
    """Return what was asked."""
    return sql.upper()


QUERY = tools.Tool.from_function(query, grammar=SQL)
ZIP = tools.Tool("zip", grammar=sm.Grammar.from_regex("[0-9]{5}|a>>b"))


def test_calls_hold_texts_of_the_grammar() -> None:
    made = tools.grammar(STYLE, [QUERY, ZIP], reasoning="off")
    assert made.accepts("Look: <<query: SELECT a FROM b>> and <<zip: 12345>>")
    assert not made.accepts("<<query: DELETE FROM b>>") and not made.accepts("<<zip: SELECT 1>>")
    (call,) = tools.parse(STYLE, "<<query: SELECT a FROM b>>", tools=[QUERY]).calls
    assert call.arguments == {"sql": "SELECT a FROM b"} and call.written == "SELECT a FROM b"
    assert call.run() == "SELECT A FROM B"
    assert tools.Tool.of(QUERY).with_strict(True).grammar is SQL
    assert ZIP.as_dict()["function"]["parameters"]["required"] == ["input"]


def test_ends_within_the_text_are_text() -> None:
    text = "<<query: SELECT '>>' FROM b>><<zip: a>>b>> so"
    turn = tools.parse(STYLE, text, tools=[QUERY, ZIP])
    assert [call.arguments for call in turn.calls] == [{"sql": "SELECT '>>' FROM b"}, {"input": "a>>b"}]
    assert turn.content == " so"
    with pytest.raises(tools.TurnError, match="`>>` is needed after an argument of `zip`"):
        tools.parse(STYLE, "<<zip: a>>", tools=[ZIP])
    assert tools.parse(STYLE, "<<other: a>>").calls[0].arguments == {"input": "a"}


def test_what_is_sampled_is_read_back() -> None:
    rng = random.Random(5)
    for text in tools.grammar(STYLE, [QUERY, ZIP], tool_choice="required", reasoning="off").sample(8, seed=3):
        reader = tools.EventReader(STYLE, [QUERY, ZIP])
        events = []
        at = 0
        while at < len(text):
            size = rng.randint(1, 9)
            events += reader.feed(text[at : at + size])
            at += size
        events += reader.close()
        calls = [event.call for event in events if isinstance(event, tools.CallFinished)]
        assert calls == tools.parse(STYLE, text, tools=[QUERY, ZIP]).calls and calls
        written = "".join(event.text for event in events if isinstance(event, tools.ArgumentsDelta))
        assert written == "".join(call.written for call in calls)


def test_what_is_refused() -> None:
    def two(a: str, b: str) -> None: ...

    with pytest.raises(tools.ToolError, match="`two` must have one parameter, not 2"):
        tools.Tool.from_function(two, grammar=SQL)
    with pytest.raises(tools.ToolError, match="at /grammar: a Grammar, not str"):
        tools.Tool("f", grammar="root ::= [a]")  # type: ignore[arg-type]
    with pytest.raises(tools.ToolError, match=r"at /tools/0/grammar: .* a style of one's own"):
        tools.grammar("qwen_3", [ZIP])
    with pytest.raises(sm.StackmaskError, match=r"/tools/0.* the tool needs a `grammar`"):
        tools.grammar(STYLE, [{"name": "f"}])
    with pytest.raises(tools.ToolError, match="arguments that are text need a marker at their end"):
        tools.register("endless", tools.ToolStyle((("<<{name}", ""),), arguments="text", trigger="<<"))
