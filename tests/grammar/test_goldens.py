"""Every construct of the dialect: the rules that come out, and texts that they accept and reject."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import Case, check_samples, read_cases, write_cases

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir.dump import dump

FOLDER = Path(__file__).parent / "goldens"
FILES = sorted(FOLDER.glob("*.txt"))


def load(case: Case) -> Grammar:
    return Grammar.from_ebnf(case.grammar, None, name=case.title)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rules(path: Path, update_goldens: bool) -> None:
    cases = read_cases(path)
    for case in cases:
        came_out = load(case).dump()
        if update_goldens:
            case.sections = {"rules": came_out, **{k: v for k, v in case.sections.items() if k != "rules"}}
        else:
            assert came_out == case.sections["rules"], case.title
    if update_goldens:
        write_cases(path, cases)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_samples(path: Path) -> None:
    for case in read_cases(path):
        check_samples(load(case).rules, case.samples("accepted"), case.samples("rejected"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_dump_is_read_back_as_the_same_rules(path: Path) -> None:
    for case in read_cases(path):
        rules = load(case).rules
        if "%start" in rules.rules or "%skip" in rules.rules:
            continue  # these two names cannot be written
        text = dump(rules)
        again = Grammar.from_ebnf(text, rules.start).rules
        assert dump(again) == text
        assert {n: r.body for n, r in again.rules.items()} == {n: r.body for n, r in rules.rules.items()}
