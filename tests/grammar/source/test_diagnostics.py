"""Every diagnostic code has cases; what a user reads is a golden."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import Case, read_cases, write_cases

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.source.diagnostic_codes import CODES
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError, StackmaskError

FILES = sorted((Path(__file__).parent / "cases").glob("*.txt"))


def refuse(case: Case) -> GrammarError:
    with pytest.raises(GrammarError) as refused:
        Grammar.from_ebnf(case.grammar, name="g.ebnf")
    return refused.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages(path: Path, update_goldens: bool) -> None:
    cases = read_cases(path)
    for case in cases:
        error = refuse(case)
        assert path.stem in {diagnostic.code for diagnostic in error.diagnostics}, case.title
        if update_goldens:
            case.sections = {"error": f"{error}\n\n"}
        else:
            assert str(error) == case.sections["error"].rstrip("\n"), case.title
    if update_goldens:
        write_cases(path, cases)


def test_every_code_of_the_text_has_a_file() -> None:
    assert {path.stem for path in FILES} >= {code for code in CODES if code.startswith("G0")}


def test_all_problems_at_once_in_order_of_place() -> None:
    text = 'root ::= itme [z-a] "\\q"\nb ::= (c\nb ::= "x"{2,1}\nd ::= /^/ *'
    error = refuse(Case("", text))
    assert [d.code for d in error.diagnostics] == ["G003", "G007", "G006", "G002", "G004", "G005", "G009"]


def test_an_error_carries_its_sources_and_is_a_value_error() -> None:
    error = refuse(Case("", "root ::= x"))
    assert isinstance(error, StackmaskError)
    assert isinstance(error, ValueError)
    assert error.sources == (SourceText("g.ebnf", "root ::= x"),)
    assert error.diagnostics[0].span == Span(9, 10)


def test_many_problems_are_cut() -> None:
    error = refuse(Case("", "root ::= " + " ".join(f"undefined{i}" for i in range(200))))
    assert len(error.diagnostics) == 200
    assert str(error).endswith("and 150 more")


def test_rendering_without_a_place() -> None:
    assert str(GrammarError([Diagnostic("G016", "m", help="h")])) == "error[G016]: m\n  = help: h"
    assert str(GrammarError([Diagnostic("G016", "m", Span(0, 1))])) == "error[G016]: m"
    assert "g:1:2" in str(GrammarError([Diagnostic("G016", "m", Span(1, 2))], [SourceText("g", "ab")]))
