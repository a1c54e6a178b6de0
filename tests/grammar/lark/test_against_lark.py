"""Random grammars: the engine accepts the texts that Lark's Earley parser accepts, and no others."""

from __future__ import annotations

import lark
import pytest
from oracle.random_lark import LarkJudge, RandomLark, all_texts

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.diagnostics import StackmaskError

SEEDS = range(1_000, 1_060)


def test_random_grammars() -> None:
    judged = verdicts = 0
    for seed in SEEDS:
        text = RandomLark(seed).text()
        try:
            judge = LarkJudge(text)
        except (lark.exceptions.LarkError, AssertionError):
            continue
        try:
            grammar = Grammar.from_lark(text)
            grammar.accepts("")
        except StackmaskError:
            continue  # rules that derive nothing, and look-around that is refused by name
        judged += 1
        assert not grammar.report.narrowed, text
        letters = "ab " if "%ignore" in text else "abA"
        for sample in all_texts(letters, 3):
            verdict = judge.accepts(sample)
            if verdict is not None:
                verdicts += 1
                assert grammar.accepts(sample) == verdict, f"{text}\n{sample!r}: Lark says {verdict}"
    assert judged >= 15
    assert verdicts >= 500


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
