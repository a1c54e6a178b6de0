"""Diagrams: what is drawn, that a picture is XML, that links lead to rules, and that sizes are bounded."""

from __future__ import annotations

import re
import sys
import xml.dom.minidom

import pytest
from repository.tree import REPO
from support.campaign import mostly_campaign

from stackmask.grammar.grammar import Grammar

pytest.importorskip("railroad")

from stackmask.grammar.diagram.drawing import DiagramError
from stackmask.grammar.diagram.pictures import drawn_rules, html_text, svg_text
from stackmask.grammar.source.files import bundled_names


def boxes(grammar: Grammar) -> list[str]:
    """Return the texts of a picture, without titles."""
    picture = xml.dom.minidom.parseString(svg_text(grammar.rules))
    return ["".join(part.data for part in text.childNodes) for text in picture.getElementsByTagName("text")]


def drawn(text: str) -> list[str]:
    return boxes(Grammar.from_ebnf(text, None))


@pytest.mark.parametrize("name", mostly_campaign(bundled_names(), 4))
def test_bundled_grammars_are_drawn(name: str) -> None:
    grammar = Grammar.bundled(name)
    picture = svg_text(grammar.rules)
    document = xml.dom.minidom.parseString(picture)
    places = {group.getAttribute("id") for group in document.getElementsByTagName("g")} - {""}
    links = set(re.findall(r'href="#([^"]*)"', picture))
    assert len(places) == len(drawn_rules(grammar.rules)) or len(places) == 150
    assert links <= places


def test_expressions_are_boxes_and_branches() -> None:
    assert drawn('root ::= "a" "b c" | [0-9]+ x?\nx ::= .') == [
        "root",
        "ab␣c",
        "[0-9]",
        "x",
        "x",
        "any character",
    ]


def test_loops_have_their_separator_once() -> None:
    assert drawn('root ::= "[" (x ("," x)*)? "]"\nx ::= "1"') == ["root", "[", "x", ",", "]", "x", "1"]
    assert drawn('root ::= "a"{2,5} "b"{3} "c"{2,}') == [
        "root",
        *("a", "2 to 5 times", "b", "3 times", "c", "2 or more"),
    ]


def test_words_without_case_are_one_box() -> None:
    assert drawn("root ::= [Ss] [Qq] [Ll] [Xx]") == ["root", "SQLX (any case)"]
    assert drawn("root ::= [Ss]") == ["root", "[Ss]"]


def test_negations_restrictions_and_tokens_say_what_they_are() -> None:
    assert drawn('root ::= [a-z]+ - "no"') == ["root", "[a-z]", 'but not "no"']
    assert drawn('root ::= !(.* "x" .*)') == ["root", 'anything but .* "x" .*']
    assert drawn('root ::= "a" !>> [a-z] <|tool|>') == ["root", "a", "not before [a-z]", "<|tool|>"]
    assert drawn('root ::= "#" !>> [^\\n] "x"')[2] == "only before ↵ or the end"
    assert drawn('root ::= "<" @push([a-z]+) ">" @top') == [
        *("root", "<", "[a-z]", "remembered", ">"),
        "the last captured text",
    ]
    assert drawn(r'root ::= [^"\\]') == ["root", r'[^"\\]']


def test_what_may_be_skipped_is_left_out() -> None:
    assert drawn('root ::= "a" x\nx ::= "b"\n%skip [ \\t]+') == ["root", "a", "x", "x", "b"]


def test_schemas_are_drawn_without_blanks_and_bookkeeping() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "boolean"}}, "required": ["n"]}
    closed = {**schema, "additionalProperties": False}
    wanted = ["value1", '{"n":', "true", "false", "}"]
    for options in (
        {"whitespace": "any", "spelling": "plain"},
        {"whitespace": "compact", "spelling": "plain"},
    ):
        assert boxes(Grammar.from_json_schema(closed, **options)) == wanted
    assert boxes(Grammar.from_json_schema(closed, profile="model")) == [
        *("value1", "{", '"n":', "␣"),
        *wanted[2:],
    ]
    found = boxes(Grammar.from_json_schema(schema, spelling="plain", whitespace={"indent": 2}))
    assert "another key" in found
    assert "character of a string" in found


def test_pictures_are_xml_whatever_is_written() -> None:
    texts = ["<&>\"'", "]]>", "\x00\x1b\ufffe\u202e", "日本語", "&lt;", "\\"]
    grammar = Grammar.from_choices(texts)
    found = boxes(grammar)
    assert "]]>" in found
    assert "\\x00\\x1b\\ufffe\\u202e" in found
    escaped = Grammar.from_choices([b"\xff\x00"])
    assert boxes(escaped) == ["root", r"\xff\x00"]
    assert boxes(Grammar.from_ebnf('root ::= (. - "]]>") "<b>"'))[:3] == [
        "root",
        "any character",
        'but not "]]>"',
    ]


def test_wide_characters_have_room() -> None:
    def width(text: str) -> float:
        return float(
            re.findall(r'<svg[^>]* width="([\d.]+)"', svg_text(Grammar.from_choices([text]).rules))[0]
        )

    assert width("日本語" * 4) > width("abc" * 4)


def test_pages_escape_names_and_have_no_other_files() -> None:
    page = html_text(Grammar.from_ebnf('root ::= "a" b\nb ::= "<b>"').rules, "<script>alert(1)</script>")
    assert "<script>" not in page
    assert '<a href="#rule-2">b</a>' in page
    assert re.findall(r'(?:src|href)="(?!#)', page) == []


@pytest.mark.campaign
def test_sizes_are_bounded() -> None:
    deep = "root ::= " + "(" * 45 + '"a" b' + ")? b" * 45 + '\nb ::= "b"'
    many = "root ::= " + " | ".join(f'"{i}"' for i in range(20_000))
    long = "root ::= " + " ".join(f'"{i}" x' for i in range(2_000)) + '\nx ::= "x"'
    rules = "root ::= r0\n" + "\n".join(f'r{i} ::= "a" r{i + 1}' for i in range(400)) + '\nr400 ::= "b"'
    for text in (deep, many, long, rules):
        assert len(svg_text(Grammar.from_ebnf(text).rules)) < 500_000
    assert "and 19,960 more" in drawn(many)
    assert "251 more rules are not drawn" in drawn(rules)[-1]


def test_without_the_library_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = Grammar.from_choices(["a"])
    shown = grammar._repr_html_()
    assert shown is not None and "railroad-diagram" in shown
    monkeypatch.setitem(sys.modules, "railroad", None)
    assert grammar._repr_html_() is None
    with pytest.raises(DiagramError, match=r"stackmask\[look\]"):
        svg_text(grammar.rules)


def test_the_picture_of_the_page_is_what_is_drawn(update_goldens: bool) -> None:
    page = (REPO / "docs" / "command-line.md").read_text(encoding="utf-8")
    picture = REPO / "docs" / "images" / "orders.svg"
    found = re.search(r"^```ebnf\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    wanted = svg_text(Grammar.from_ebnf(found[1], None).rules)
    if update_goldens:
        picture.write_text(wanted, encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == wanted, "run this test with --update-goldens"
