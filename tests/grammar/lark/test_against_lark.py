"""Random grammars: the engine accepts the texts that Lark's Earley parser accepts, and no others."""

from __future__ import annotations

import pytest
from oracle.random_lark import LarkJudge, RandomLark, all_texts
from support.campaign import SCALE
from support.lark_checks import compare

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.cli.command_convert import lark_as_ebnf

SEEDS = range(1_000, 1_000 + 60 * SCALE)


def test_random_grammars() -> None:
    outcomes = [compare(seed, 3) for seed in SEEDS]
    for outcome in outcomes:
        assert not outcome.wrong, f"{outcome.text}\n{outcome.wrong}"
    assert sum(outcome.verdicts > 0 for outcome in outcomes) >= 15
    assert sum(outcome.verdicts for outcome in outcomes) >= 500
    assert sum(outcome.accepted for outcome in outcomes) >= 100


@pytest.mark.campaign
def test_random_changes() -> None:
    outcomes = [compare(seed, 3, True) for seed in range(2_000, 2_000 + 40 * SCALE)]
    for outcome in outcomes:
        assert not outcome.wrong, f"{outcome.text}\n{outcome.wrong}"
    assert sum(outcome.verdicts for outcome in outcomes) >= 300
    assert sum(outcome.accepted for outcome in outcomes) >= 60


@pytest.mark.parametrize(
    ("terminal", "texts"),
    [
        ("/a.*?b/", ["ab", "aab", "abb", "a b"]),
        ('/a/ | "ab"', ["a", "ab", "abc"]),
        ('("a" | "ab") "c"?', ["ac", "abc", "ab"]),
        ('"x" /(?!y)[a-z]/ "z"?', ["xy", "xaz", "xz", "xzz"]),
        (r'/"/ /.*?/ /(?<!\\)(\\\\)*?/ /"/', ['"a"', '"a\\"', '"a\\\\"', '"a"b"', '""']),
        ('"ſ"i', ["s", "S", "ſ"]),
        ("/é/i", ["É", "é"]),
        (r"/\d+/", ["12", "١٢", "x"]),
        (r"/\w\W/", ["a ", "é!", "!!"]),
    ],
)
def test_terminals(terminal: str, texts: list[str]) -> None:
    text = f"start: T\nT: {terminal}\n"
    grammar, judge = Grammar.from_lark(text), LarkJudge(text)
    for sample in texts:
        assert grammar.accepts(sample) == judge.accepts(sample), sample


@pytest.mark.campaign
def test_random_grammars_as_ebnf() -> None:
    converted = 0
    for seed in range(30):
        for changed in (False, True):
            written = RandomLark(seed)
            text = written.changed() if changed else written.text()
            try:
                lark = Grammar.from_lark(text)
                _ = lark.normalized
            except StackmaskError:
                continue
            made = Grammar.from_ebnf(lark_as_ebnf(text, name="x", base=None).text)
            converted += 1
            for sample in all_texts("abA ", 3):
                assert made.accepts(sample) == lark.accepts(sample), (text, sample)
    assert converted >= 40
