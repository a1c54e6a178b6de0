"""Every bundled grammar on texts that are in its language and texts that are not, judged three times."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from judges import JUDGES
from judges.regex import judge_all_with_node, node_available
from judges.samples import NAMES, Sample, load_samples
from oracle.earley import Recognizer
from support.campaign import campaign

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.source.files import bundled_names
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
CASES = [pytest.param(name, s, id=f"{name}-{s.line}") for name in NAMES for s in load_samples(name)]
ORACLE_LENGTH = {
    "lua": 22,
    "postgres": 16,
    "sql": 26,
    "sqlite": 22,
}  # bytes: the oracle is slow on long texts of large grammars


@cache
def engine(name: str) -> Callable[[bytes], bool]:
    compiled = Compiler(BYTES).compile(Grammar.bundled(name))

    def accepts(data: bytes) -> bool:
        matcher = compiled.matcher()
        return bool(matcher.accept_string(data) and matcher.is_accepting())

    return accepts


@cache
def oracle(name: str) -> Recognizer:
    return Recognizer(Grammar.bundled(name).rules)


def test_every_bundled_grammar_has_samples_and_a_judge() -> None:
    assert set(bundled_names()) == set(NAMES) == set(JUDGES)


FILES = sorted((Path(__file__).resolve().parents[2] / "grammars").glob("*.ebnf"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_first_line_describes_the_grammar(file: Path) -> None:
    first = file.read_text("utf-8").splitlines()[0]
    assert first.startswith("# ") and first.endswith(".") and len(first) <= 120


@pytest.mark.parametrize(("name", "sample"), CASES)
def test_engine(name: str, sample: Sample) -> None:
    assert engine(name)(sample.data) == sample.accepted


@pytest.mark.parametrize(("name", "sample"), CASES)
def test_judge(name: str, sample: Sample) -> None:
    assert JUDGES[name](sample.data).accepted == sample.judged


@pytest.mark.parametrize(
    "name",
    # the oracle knows neither `@new` nor `@level`: see tests/exactness/test_indentation.py
    [pytest.param(n, marks=campaign) if n in ("sqlite", "postgres") else n for n in NAMES if n != "python"],
)
def test_oracle(name: str) -> None:
    recognizer = oracle(name)
    short = [s for s in load_samples(name) if len(s.data) <= ORACLE_LENGTH.get(name, 60)]
    assert short
    for sample in short:
        assert recognizer.accepts(sample.data) == sample.accepted, f"line {sample.line}"


@pytest.mark.skipif(not node_available(), reason="no JavaScript engine (node) is installed")
def test_regex_samples_in_javascript() -> None:
    accepted = [s.data.decode() for s in load_samples("regex") if s.accepted]
    assert judge_all_with_node(accepted) == [None] * len(accepted)


def test_parts_of_the_json_grammar_can_be_imported() -> None:
    text = """
    %import json (value, object, array, string, number)
    root ::= "v" value | "o" object | "a" array | "s" string | "n" number
    """
    compiled = Compiler(BYTES).compile(Grammar.from_ebnf(text))
    for data, expected in {
        b'v{"a":[1]}': True, b"o{}": True, b"o[]": False, b"a[]": True, b's"x"': True, b"n-1e3": True,
        b"n 1": False, b"v 1": False, b"n1 ": False, b"sx": False,
    }.items():  # fmt: skip
        matcher = compiled.matcher()
        assert bool(matcher.accept_string(data) and matcher.is_accepting()) == expected, data


@pytest.mark.parametrize("name", ["postgres", "sqlite"])
@pytest.mark.parametrize("text", [b"SELECT 1 /* \0 */", b"SELECT 1 -- \0\n", b"SELECT '\0'"])
def test_no_null_character(name: str, text: bytes) -> None:
    """Databases take none, in comments neither."""
    assert not JUDGES[name](text).accepted
    assert not engine(name)(text)
    assert engine(name)(text.replace(b"\0", b"x"))
