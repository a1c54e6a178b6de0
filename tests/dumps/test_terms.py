"""The terms that rules become: what the lowering makes of normalised grammars, as text."""

from __future__ import annotations

from pathlib import Path

from support.golden import read_cases, write_cases

import stackmask as sm
from stackmask.pda.lowering.rules_to_terms import Lowering
from stackmask.pda.terms.term_store import dump_rules

FILE = Path(__file__).parent / "terms.txt"
VOCABULARY = sm.Vocabulary(
    [*[bytes([b]) for b in range(256)], None, None], stop_ids=[256], special_names={"<|end|>": 257}
)


def dump(grammar: sm.Grammar) -> str:
    """Return the term that a grammar starts with, and its rules as terms."""
    automaton = sm.Compiler(VOCABULARY).compile(grammar)._automaton
    terms, rules = automaton.store.terms, grammar.normalized
    again = Lowering(automaton.store.tables)  # finds the rules that are there
    assert again.run(rules.rules, rules.start) == automaton.lowered.start
    return f"start = {terms.dump(automaton.lowered.start)}\n{dump_rules(terms, sorted(set(again.numbers.values())))}"


def test_terms(update_goldens: bool) -> None:
    cases = read_cases(FILE)
    for case in cases:
        came_out = dump(sm.Grammar.from_ebnf(case.grammar, None, name=case.title))
        if update_goldens:
            case.sections = {"terms": came_out}
        else:
            assert came_out == case.sections["terms"], case.title
    if update_goldens:
        write_cases(FILE, cases)


def test_conditions_are_named() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}
    text = dump(sm.Grammar.from_json_schema(schema))
    assert "keys0(rule" in text
    assert "close" in text
