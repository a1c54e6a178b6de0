"""``stackmask trace``."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from support.browser import page_after_scripts
from typer.testing import CliRunner

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.cli.app import app
from stackmask.runtime.cli.command_trace import percent
from stackmask.runtime.cli.trace_page import page_text
from stackmask.runtime.cli.tracing import CHUNK, Likelihood, Likely, Step, TraceError, follow
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

LETTERS = Vocabulary([bytes([b]) for b in range(256)] + [b"ab", None], stop_ids=[257])


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["trace", *arguments], env={"COLUMNS": "200"})
    return done.exit_code, done.output


def test_a_text_is_followed_to_its_end() -> None:
    status, shown = run("json", "--text", '{"a": [1]}')
    assert status == 0
    assert "(end)" in shown
    assert "made of" not in shown


def test_costs_tell_operands_and_walks() -> None:
    status, shown = run("json", "--text", '{"a": 1}', "--cost")
    assert status == 0
    assert "made of" in shown
    assert "walks" in shown
    assert "list of" in shown or "row of" in shown


def test_a_refused_text_says_why() -> None:
    status, shown = run("json", "--text", '{"a": oops}')
    assert status == 1
    assert "refused" in shown


def test_a_text_that_ends_too_early() -> None:
    status, shown = run("json", "--text", '{"a"')
    assert status == 1
    assert "ends too early" in shown


def test_columns_say_what_was_forced_and_inside_of_which_rule() -> None:
    status, shown = run("json", "--text", '{"a": [true]}')
    assert status == 0
    assert "'rue'" in shown
    assert "object › member › string" in shown
    assert "likeliest" not in shown


def test_what_the_model_finds_likely() -> None:
    status, shown = run("json", "--text", '{"a": 1}', "--likely", "--prompt", "A point: ")
    assert status == 0
    assert "mass" in shown
    assert "%" in shown


def test_a_file_is_traced(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("[1]", encoding="utf-8")
    assert run("json", "--file", str(file))[0] == 0
    for wrong in (["json"], ["json", "--text", "1", "--file", str(file)]):
        status, shown = run(*wrong)
        assert status == 2
        assert "--text or --file" in shown


# -- steps ----------------------------------------------------------------------------------------------------


def steps_of(text: str, data: bytes, **options: Any) -> list[Step]:
    compiled = Compiler(LETTERS).compile(Grammar.from_ebnf(text))
    return list(follow(compiled, list(data), **options))


def test_steps_say_what_was_so_before_each_token() -> None:
    first, second, end = steps_of('root ::= "a" x\nx ::= "b" | "c"', b"ab")
    assert (first.text, first.allowed, first.some, first.forced, first.rules) == (
        "a",
        2,
        ("a", "ab"),
        "a",
        (),
    )
    assert (second.text, second.allowed, second.some, second.forced) == ("b", 2, ("b", "c"), "")
    assert second.rules == ("x",)
    assert (end.token, end.text, end.allowed, end.refusal) == (None, "(end)", 1, "")


def test_the_last_step_says_why_it_was_refused() -> None:
    found = steps_of('root ::= "a" x\nx ::= "b" | "c"', b"ad")
    assert [step.text for step in found] == ["a", "d"]
    assert "expected 'b' or 'c', inside `x`" in found[-1].refusal
    assert steps_of('root ::= "ab"', b"a")[-1].refusal == "the text ends too early"


def test_long_texts_are_refused() -> None:
    with pytest.raises(TraceError, match=r"20,001 tokens"):
        steps_of("root ::= .*", b"a" * 20_001)


def test_costs_are_those_before_the_mask_was_known() -> None:
    found = steps_of("root ::= [a-z]+", b"ab", cost=True)
    assert found[0].cost is not None and found[0].cost["walks"] > 0


class Counting:
    """A model that finds the number of the place likely."""

    device = "cpu"
    config = type("Config", (), {"max_position_embeddings": 100})

    def prepare_inputs_for_generation(self, input_ids: torch.Tensor, past_key_values: Any = None) -> Any:
        """Say how it takes its cache, as models with code of their own do."""

    def __call__(self, input_ids: torch.Tensor, past_key_values: Any, use_cache: bool) -> Any:
        read = 0 if past_key_values is None else past_key_values
        logits = torch.full((1, input_ids.shape[1], 300), -20.0)
        for i in range(input_ids.shape[1]):
            logits[0, i, 97 + (read + i) % 3] = 0.0
        return type("Done", (), {"logits": logits, "past_key_values": read + input_ids.shape[1]})


def test_chances_belong_to_their_places() -> None:
    text = b"ab" * CHUNK
    likelihood = Likelihood(Counting(), [1], list(text))
    found = steps_of("root ::= [ab]+", text, likelihood=likelihood)
    assert len(found) == len(text) + 1
    for number, step in enumerate(found):
        best = step.likely[0]
        assert best.text == "abc"[number % 3]
        assert best.allowed == (best.text != "c")
        assert best.chance > 0.99
        assert step.mass is not None and (step.mass > 0.99) == best.allowed
    assert found[0].chance is not None and found[0].chance > 0.99
    assert found[-1].chance is None
    without = Likelihood(Counting(), [], list(b"a"))
    assert [bool(step.likely) for step in steps_of('root ::= "a"', b"a", likelihood=without)] == [False, True]
    with pytest.raises(TraceError, match="reads 100"):
        Likelihood(Counting(), [1] * 99, [2, 3])


def test_shares_are_percentages() -> None:
    assert [percent(share) for share in (None, 0.0, 0.0001, 0.051, 0.2, 1.0)] == [
        *("", "0%", "<0.1%", "5.1%", "20%", "100%"),
    ]


# -- the page -------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The data and the tokens of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside: list[tuple[str, dict[str, str | None]]] = []
        self.tokens: list[str] = []
        self.data = ""
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside.append((tag, dict(attrs)))
        self.scripts += tag == "script"
        if tag == "span" and "data-i" in dict(attrs):
            self.tokens.append("")

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tag, attributes = self.inside[-1] if self.inside else ("", {})
        if tag == "script" and attributes.get("id") == "data":
            self.data += data
        elif any(tag == "span" for tag, _ in self.inside):
            self.tokens[-1] += data


def test_a_page_holds_the_text_and_the_steps() -> None:
    steps = steps_of('root ::= "<" x "\\n"\nx ::= "b" | "&"', b"<&\n", cost=True)
    page = Page(page_text(steps, "<x>"))
    assert page.tokens == ["<", "&", "↵\n", "(end)"]
    data = json.loads(page.data)
    assert [each["x"] for each in data] == ["<", "&", "\n", "(end)"]
    assert (data[1]["n"], data[1]["s"], data[1]["r"]) == (2, ["&", "b"], ["x"])
    assert data[0]["c"]


def test_pages_are_not_led_by_what_they_show() -> None:
    wicked = "</script><script>alert(1)</script>\u2028\x1b\u202e<!--"
    step = Step(1, wicked, 2, (wicked,), wicked, (wicked,), (Likely(wicked, 0.5, False),), 0.5, 0.1, wicked)
    text = page_text([step], wicked)
    page = Page(text)
    assert page.scripts == 2
    assert "alert(1)" in json.loads(page.data)[0]["x"]
    assert "\x1b" not in text and "\u202e" not in text and "\u2028" not in text
    assert re.findall(r"""(?:src|href)=["'][^#"']""", text) == []


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    file = tmp_path / "x.html"
    status, shown = run("json", "--text", '{"a": oops}', "-o", str(file))
    assert status == 1
    assert "refused" in shown
    page = Page(file.read_text(encoding="utf-8"))
    assert "".join(page.tokens[:-1]) in '{"a": oops}'
    assert "expected" in json.loads(page.data)[-1]["e"]
    status, shown = run("json", "--text", "1", "-o", str(tmp_path / "x.txt"))
    assert status == 2
    assert ".html" in shown


def test_the_page_in_a_browser(tmp_path: Path) -> None:
    steps = steps_of('root ::= "a" x\nx ::= "b" | "<&"', b"ab")
    file = tmp_path / "x.html"
    file.write_text(page_text(steps, "letters"), encoding="utf-8")
    dom = page_after_scripts(f"{file.as_uri()}#1", tmp_path)
    panel = dom.partition('id="step"')[2].partition("</section>")[0]
    assert "step 1, token 98" in panel
    assert "2 tokens" in panel
    assert "enclosing rules</dt><dd>x</dd>" in panel
    assert '<span class="c2 on" data-i="1">b</span>' in dom


ORDER = '{"type": "object", "properties": {"item": {"enum": ["tea", "cake"]}, "count": {"enum": [1, 2, 3]}}, '
ORDER += '"required": ["item", "count"], "additionalProperties": false}'


def test_the_picture_of_the_readme(tmp_path: Path) -> None:
    made = tmp_path / "t.svg"
    texts = ("--text", '{"item": "tea", "count": 2}', "--text", '{"item": "milk"}')
    status, shown = run(ORDER, *texts, "-o", str(made))
    assert (status, shown.count("t.svg:"), "7 tokens, token 78" in shown) == (1, 2, True)
    kept = Path(__file__).parents[3] / "docs" / "images" / "trace.svg"
    assert made.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")
    status, shown = run(ORDER, *texts, "-o", str(tmp_path / "t.html"))
    assert (status, "a page shows one text" in shown) == (2, True)


def test_a_picture_of_a_long_text_has_several_rows(tmp_path: Path) -> None:
    made = tmp_path / "t.svg"
    assert run('root ::= ["<&\\n\\t \\x1b]*', "--text", '"<&\n\t \x1b' * 40, "-o", str(made))[0] == 0
    root = ElementTree.fromstring(made.read_text(encoding="utf-8"))
    boxes = [box for box in root if box.tag.endswith("rect") and box.get("x")]
    assert len({box.get("y") for box in boxes}) > 2
    assert all(float(box.attrib["x"]) < 900 for box in boxes)
