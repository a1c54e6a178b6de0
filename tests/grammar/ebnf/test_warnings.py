"""Warnings: what a grammar says that its author hardly meant."""

from __future__ import annotations

from pathlib import Path

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostic_codes import CODES
from stackmask.grammar.source.diagnostics import render


def messages(text: str, start: str | None = "root") -> list[str]:
    return [diagnostic.message for diagnostic in Grammar.from_ebnf(text, start).warnings]


def test_rules_that_nothing_uses_are_named_in_order_of_place() -> None:
    text = 'root ::= a\nz ::= "z" y\na ::= "a"\ny ::= z?'
    assert messages(text) == ["rule `z` is never used", "rule `y` is never used"]
    assert messages(text, "z") == ["rule `root` is never used", "rule `a` is never used"]


def test_used_is_what_recursion_skip_and_operands_lead_to() -> None:
    text = '%skip blank\nblank ::= " "\nroot ::= "(" root ")" | WORD\nWORD ::= LETTER+ - KEY\nLETTER ::= [a-z]\nKEY ::= "if"'
    assert messages(text) == []


def test_imported_files_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "lib.ebnf").write_text('a ::= "a"\nb ::= "b"\n')
    (tmp_path / "main.ebnf").write_text('%import "lib.ebnf" (a, b)\nroot ::= a\nspare ::= b\n')
    grammar = Grammar.from_file(tmp_path / "main.ebnf")
    assert [diagnostic.message for diagnostic in grammar.warnings] == ["rule `spare` is never used"]


def test_a_warning_is_shown_as_one() -> None:
    grammar = Grammar.from_ebnf('root ::= "a"\nspare ::= "b"', name="g.ebnf")
    (warning,) = grammar.warnings
    assert (warning.code, warning.severity) == ("G201", "warning") and warning.code in CODES
    shown = render(grammar.warnings, grammar.rules.sources)
    assert shown.startswith("warning[G201]: rule `spare` is never used\n --> g.ebnf:2:1\n")
    assert shown.endswith("= help: delete it, or begin with it: start='spare'")


def test_other_grammars_have_none() -> None:
    assert Grammar.from_json_schema({"type": "integer"}).warnings == ()
    assert Grammar.from_regex("[ab]+").warnings == ()
    assert Grammar.bundled("json").warnings == ()
