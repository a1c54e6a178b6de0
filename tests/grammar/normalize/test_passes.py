"""Golden cases, a file for each pass: what it makes of a grammar, or why it refuses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.golden import check_samples, read_cases, write_cases

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import RuleSet
from stackmask.grammar.ir.dump import dump
from stackmask.grammar.normalize.booleans import drop_empty_booleans, expand_booleans
from stackmask.grammar.normalize.checks import (
    check_captures,
    check_keys,
    check_restrictions,
    check_stack,
    check_wellformed,
)
from stackmask.grammar.normalize.graph import remove_useless
from stackmask.grammar.normalize.inline import inline_rules, write_out_empty_rules
from stackmask.grammar.normalize.left_recursion import merge_operators, remove_left_recursion
from stackmask.grammar.source.diagnostic_codes import CODES
from stackmask.grammar.source.diagnostics import GrammarError

CASES = Path(__file__).parent / "cases"
PASSES: dict[str, Callable[[RuleSet], RuleSet | None]] = {
    "wellformed": check_wellformed,
    "productive": remove_useless,
    "booleans": expand_booleans,
    "emptiness": drop_empty_booleans,
    "keys": check_keys,
    "empty_rules": write_out_empty_rules,
    "captures": check_captures,
    "stack": check_stack,
    "restrictions": check_restrictions,
    "left_recursion": remove_left_recursion,
    "inline": inline_rules,
    "operators": merge_operators,
}
FILES = sorted(CASES.glob("*.txt"))


def run_passes(rules: RuleSet, last: str) -> str | RuleSet:
    """Return the rules after a pass and all before it, or the rendered diagnostics."""
    for name, function in PASSES.items():
        try:
            rules = function(rules) or rules
        except GrammarError as error:
            assert name == last, f"refused by {name}: {error}"
            return str(error) + "\n"
        if name == last:
            break
    return rules


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path, update_goldens: bool) -> None:
    cases = read_cases(path)
    for case in cases:
        rules = Grammar.from_ebnf(case.grammar, start=None).rules
        result = run_passes(rules, path.stem)
        text = result if isinstance(result, str) else dump(result)
        if update_goldens:
            case.sections["result"] = text
        assert case.sections.get("result") == text, f"{case.title}\n{text}"
        if isinstance(result, RuleSet):
            for version in (rules, result):
                check_samples(version, case.samples("accepted"), case.samples("rejected"))
    if update_goldens:
        write_cases(path, cases)


def test_every_code_of_the_passes_has_a_case() -> None:
    shown = "".join(path.read_text("utf-8") for path in FILES)
    unreachable_from_text = {
        "G101",
        "G104",
        "G105",
        "G106",
        "G109",
        "G114",
        "G117",
        "G119",
        "G120",
    }  # see test_limits.py
    missing = {code for code in CODES if code.startswith("G1")} - unreachable_from_text
    assert not {code for code in missing if f"error[{code}]" not in shown}
