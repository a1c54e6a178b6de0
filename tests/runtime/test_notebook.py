"""What notebooks show of compiled grammars, matchers and results: short, right, and nothing that runs."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import stackmask as sm
from stackmask.grammar.source.notebook import MOST, code, table
from stackmask.grammar.turns.parser import Call
from stackmask.runtime.generation.result import GenerationResult, JumpReport
from stackmask.runtime.jump_forward.notebook import matcher_html

VOCABULARY = sm.Vocabulary([bytes([b]) for b in range(256)] + [b"<b>", None], stop_ids=[257])
HOSTILE = sm.Grammar.from_ebnf('root ::= "<script>alert(1)</script>" "&"? "\\u202e"?')


class Reader(HTMLParser):
    """The elements of a piece of HTML, and the cells of its table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        assert all(name in ("style", "scope") for name, _ in attrs)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def shown(value: Any) -> dict[str, str]:
    """Return the rows that are shown of a value."""
    text = value._repr_html_()
    assert len(text) < 20_000
    reader = Reader(text)
    assert set(reader.tags) <= {"div", "strong", "table", "tr", "th", "td", "code"}
    return dict(zip(reader.cells[::2], reader.cells[1::2], strict=True))


@pytest.mark.parametrize("mode", ["pushdown", "finite"])
def test_a_matcher(mode: str) -> None:
    if mode == "pushdown":
        matcher = sm.Compiler(VOCABULARY).compile(HOSTILE).matcher()
    else:
        matcher = sm.fsm.compile(HOSTILE, VOCABULARY).matcher()
    found = shown(matcher)
    assert found["state"] == "more must come"
    assert found["allowed"] == "1 of 258 tokens: <"
    assert found["forced"] == "<script>alert(1)</script>"
    assert matcher.accept_string("<script>alert(1)</script>")
    assert not matcher.accept_string("<b>")
    found = shown(matcher)
    assert found["state"] == "the text may end here"
    assert found["allowed"].startswith("3 of 258 tokens: ")
    assert "refused" in found["refused"]
    assert matcher.accept_token(257)
    assert shown(matcher)["state"] == "the text has ended"


def test_a_matcher_stays_where_it_is() -> None:
    matcher = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf("root ::= [a-z]{3}")).matcher()
    assert shown(matcher)["allowed"].startswith("26 of 258 tokens: a, b, ")
    assert shown(matcher)["allowed"].endswith(", …")
    assert matcher.accept_string("abc")
    assert matcher.is_accepting()


class Exhausted:
    """A matcher that may do no more work."""

    compiled = sm.Compiler(VOCABULARY).compile(HOSTILE)
    refusal = None

    def is_terminated(self) -> bool:
        return False

    is_accepting = is_terminated

    def fill_next_token_bitmask(self, mask: Any) -> bool:
        raise sm.StackmaskError("max_seconds <1>")

    def _repr_html_(self) -> str:
        return matcher_html(self)


def test_a_matcher_whose_limit_is_reached() -> None:
    found = shown(Exhausted())
    assert found == {"state": "more must come", "allowed": "not known: max_seconds <1>"}


def test_a_compiled_grammar() -> None:
    found = shown(sm.Compiler(VOCABULARY).compile(HOSTILE))
    assert found["grammar"].endswith("start root")
    assert found["vocabulary"] == "258 tokens, of which 257 end a text"


def test_a_result() -> None:
    jumps = JumpReport("on", 3, 2, 4, 0)
    result = GenerationResult(
        "p", '{"a": "<img>\x1b"}', (1, 2, 3), True, "stop", jumps, parsed={"a": "<img>\x1b"}
    )
    found = shown(result)
    assert found["text"] == '{"a": "<img>\\x1b"}'
    assert found["parsed"] == "{'a': '<img>\\x1b'}"
    assert (found["finished"], found["tokens"]) == ("yes", "3, 2 calls of the model avoided")
    note = "max_new_tokens was reached after 9 tokens"
    failed = GenerationResult(
        "p", "x" * 5_000, (1,) * 9, False, "length", parse_error="not <b>JSON</b>", note=note
    )
    found = shown(failed)
    assert found["text"].endswith("… (4,000 more characters)")
    assert found["parsed"] == "not <b>JSON</b>"
    assert "max_new_tokens was reached after 9 tokens" in found["finished"]


def test_a_turn() -> None:
    turn = GenerationResult(
        "p", "…", (1,), True, "stop", reasoning="hm", content="c", calls=(Call("f", {"q": "<"}),) * 30
    )
    text = turn._repr_html_()
    assert text.count("f({&#x27;q&#x27;: &#x27;&lt;&#x27;})") == 20
    assert shown(turn)["reasoning"] == "hm"


def test_values_are_cut_and_escaped() -> None:
    assert "<b>" not in code("<b>") and "&lt;b&gt;" in code("<b>")
    assert len(code("x" * 10 * MOST)) < 2 * MOST
    assert table("<t>", [("<n>", ""), ("n", "v")]).count("<tr>") == 1
