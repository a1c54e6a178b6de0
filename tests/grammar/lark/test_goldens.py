"""Every construct of Lark: the rules that come out, what the report says, and texts that they accept and reject."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import Case, check_samples, read_cases, write_cases

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import GrammarError

FOLDER = Path(__file__).parent / "goldens"
FILES = sorted(FOLDER.glob("*.txt"))
ERRORS = Path(__file__).parent / "errors.txt"


def load(case: Case) -> Grammar:
    return Grammar.from_lark(case.grammar, None, name="g.lark", on_unsupported="relax")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rules(path: Path, update_goldens: bool) -> None:
    cases = read_cases(path)
    for case in cases:
        grammar = load(case)
        made = {"rules": grammar.dump(), "report": f"{grammar.report}\n\n"}
        if update_goldens:
            case.sections = {**made, **{k: v for k, v in case.sections.items() if k not in made}}
        else:
            assert made == {name: case.sections[name] for name in made}, case.title
    if update_goldens:
        write_cases(path, cases)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_samples(path: Path) -> None:
    for case in read_cases(path):
        check_samples(load(case).rules, case.samples("accepted"), case.samples("rejected"))


def test_messages(update_goldens: bool) -> None:
    cases = read_cases(ERRORS)
    for case in cases:
        with pytest.raises(GrammarError) as refused:
            _ = Grammar.from_lark(case.grammar, name="g.lark").normalized
        if update_goldens:
            case.sections = {"error": f"{refused.value}\n\n"}
        else:
            assert str(refused.value) == case.sections["error"].rstrip("\n"), case.title
    if update_goldens:
        write_cases(ERRORS, cases)
