"""Warnings: none where a grammar means what it looks like, and no effect on the grammar."""

from __future__ import annotations

import pytest

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.files import bundled_names

FINE = [
    'root ::= [a-z]+ - "if"',
    'root ::= [a-z]{2,8} - KEYWORD\nKEYWORD ::= "if" | "else"',
    "root ::= ([a-z] - [aeiou])+",
    'root ::= [a-z]{3} - "the"',
    'root ::= "a" | "b" | "ab" | [0-9]+ | ""',
    'root ::= [0-9]+ | "a1" | [a-f]',
    'root ::= . . "z" | "." "."',
    'root ::= "a"?  ("b"*)* # x9 is not a character',
    "root ::= ['\"] | [a-z|]",
    'root ::= item | <|item|>\nitem ::= "a"',
    'root ::= "a" !>> letter\nletter ::= [a-z]',
    'root ::= "a" "b"\n%skip gap\ngap ::= " "',
    'root ::= "#x9" | [#x]',
    'root ::= ("a" |) "b" | ("a" |) "c"',
    '%stack "\\n"\nroot ::= "a" (@top "a")* block\nblock ::= @scope(@push(@top " "+) "a") dedent\ndedent ::= ""',
]


@pytest.mark.parametrize("text", FINE)
def test_no_warning(text: str) -> None:
    assert str(Grammar.from_ebnf(text).warnings) == ""


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_grammars_use_all_their_rules(name: str) -> None:
    found = [w for w in Grammar.bundled(name).warnings if w.code != "G201"]
    assert not found, found[0]


def test_they_are_diagnostics_that_refuse_nothing() -> None:
    grammar = Grammar.from_ebnf('root ::= "a" | "a"\nother ::= "b"', name="g.ebnf")
    assert [(w.code, w.severity) for w in grammar.warnings] == [("G203", "warning"), ("G201", "warning")]
    assert "warning[G203]" in str(grammar.warnings) and "g.ebnf:1:16" in str(grammar.warnings)
    assert grammar.warnings is grammar.warnings
    assert grammar.rules == Grammar.from_ebnf('root ::= "a" | "a"\nother ::= "b"', name="g.ebnf").rules


def test_other_front_ends_have_none() -> None:
    assert not Grammar.from_regex("a|a").warnings
    assert not Grammar.from_choices(["a", "a"]).warnings
    assert not Grammar.from_json_schema({"title": "t", "x-order": 1, "type": "string"}).warnings


@pytest.mark.campaign
def test_the_work_is_bounded() -> None:
    text = "root ::= " + " | ".join(f'"{n}"' for n in range(20_000)) + " | [0-9]+"
    assert len(Grammar.from_ebnf(text).warnings) == 200
    from stackmask.pda.limits import Limits

    grammar = Grammar.from_ebnf(text)
    grammar.limits = Limits(max_work=1000)
    with pytest.raises(StackmaskError, match="max_work"):
        assert grammar.warnings


LARK = [
    ('start: "a" | b | "a"\nb: "b"\n', ["1:18 the alternative is hidden by `\"a\"`"]),
    ('start: A | "m"\nA: "a".."z" | "m"\n', ['2:15 the alternative is hidden by `"a".."z"`']),
    ('start: _l{b} | /x/i | _l{b} | /x/\n_l{x}: x b*\nb: "b"\n', ["1:23 the alternative is hidden by `_l{b}`"]),
    ('start: <|b|> | <b>\nb: "b"\n', ["1:16 `<b>` is a special token, not the rule `b`", "2:1 rule `b` is not used"]),
    ('start: "a" x\nx: "b"\ny{z}: z\nC: "c"\n', ["3:1 rule `y` is not used", "4:1 terminal `C` is not used"]),
    ("start: NUMBER\n%import common.NUMBER\n%extend NUMBER: \"x\" | \"x\"i\n", []),
    ('%ignore " "\nSTART: "a"\nstart: START\n', []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), LARK)
def test_of_lark(text: str, wanted: list[str]) -> None:
    found = Grammar.from_lark(text).warnings
    places = []
    for warning in found:
        assert warning.span is not None
        before = text[: warning.span.start]
        places.append(
            f"{before.count(chr(10)) + 1}:{len(before.rpartition(chr(10))[2]) + 1} {warning.message}"
        )
    assert places == wanted


def test_a_terminal_of_lark_to_begin_with() -> None:
    assert not Grammar.from_lark('%ignore " "\nA: B\nB: "b"\n', "A").warnings
