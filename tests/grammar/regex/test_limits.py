"""Nothing is exponential: hostile patterns stay small, or are refused soon; counters stay counters."""

from __future__ import annotations

import contextlib
from typing import Literal

import pytest
from support.byte_matcher import ByteMatcher
from support.campaign import mostly_campaign
from support.work import calls_of

import stackmask as sm
from stackmask import BudgetError, Grammar, StackmaskError
from stackmask.grammar.ir import walk
from stackmask.grammar.regex.compile import regex_expr

MOST_CALLS = 3_000_000  # of functions, to read one pattern
SMALL = {
    "(a+)+$": ["a", "aaa"],
    "(.*)*b": ["b", "aab"],
    "(.{100}){100}": ["a" * 10_000],
    "a{1000}{1000}": ["a" * 1_000_000],
    "^z9((.){10,10}){10,10}z9$": ["z9" + "a" * 100 + "z9"],
    "((a?){30}){30}": ["", "a" * 900],
    "(a|a)*" * 20: ["", "aaaa"],
    "^(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9]).{8,64}$": ["abcdEF12"],
    "^(?:(?!--)[a-z-]){1,1000}$": ["a-b-c"],
}


@pytest.mark.parametrize("pattern", SMALL)
def test_stays_small(pattern: str) -> None:
    expr = regex_expr(pattern)
    assert sum(1 for _ in walk(expr)) < 200
    matcher = ByteMatcher(Grammar.from_regex(pattern))
    assert [text for text in SMALL[pattern] if not matcher.matches(text)] == []


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a*)*b", "(.*)*b", "(a|a)*c", "(a|aa)+$", "(.*a){12}b?"])
def test_hostile_patterns_need_no_more_states_for_longer_texts(pattern: str) -> None:
    vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
    compiled = sm.Compiler(vocabulary).compile(Grammar.from_regex(pattern))
    matcher = compiled.matcher()
    states = []
    for _ in range(3):
        assert matcher.accept_string("a" * 5_000)
        states.append(compiled.stats()["terms"])
    assert states[0] == states[2] < 200


@pytest.mark.parametrize(
    "pattern", ["a{1000}{1000}", "(.{100}){100}", "^z9((.){10,10}){10,10}z9$", "^.{1,256}$"]
)
def test_large_counters_make_only_the_states_that_are_visited(pattern: str) -> None:
    vocabulary = sm.Vocabulary([*(bytes([b]) for b in range(256)), b"aa", b"z9", None], stop_ids=[258])
    compiled = sm.Compiler(vocabulary).compile(Grammar.from_regex(pattern))
    assert compiled.stats()["terms"] < 200
    matcher = compiled.matcher()
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(mask)
    assert compiled.stats()["terms"] < 400


@pytest.mark.parametrize(
    "pattern",
    mostly_campaign(
        [
            r"(?:\b\w{1,1000}\b ?){1,100}",
            r"(a{0,1000}\b){100}",
            "x*" * 500 + r"\b",
            r"(\b|a)" * 30,
            "(?:$|a|^)" * 40,
            "(" * 10_000,
            "[" * 10_000,
            "(?=" * 90 + "a" + ")" * 90,
            "(?:(?=a)|(?=b)|(?=c)){1000}",
            r"(?:(?=.*a.{12}b)c|d)*e",
            r"(?:(?<=a.{14})b|a|c(?!.{14}d))*",
            "a?" * 500 + r"(?<=\bb)",
            r"(a)\1" * 2_500,
            "".join(f"[\\x00-\\u{0x100 + 2 * i:04x}]" for i in range(2_000)) + r"\b",
        ],
        7,
    ),
    ids=lambda p: p[:20],
)
def test_ends_soon(pattern: str) -> None:
    def read() -> None:
        try:
            expr = regex_expr(pattern, search=True)
        except StackmaskError:
            pass
        else:
            assert sum(1 for _ in walk(expr)) < 100_000

    calls = calls_of(read)
    print(f"{calls} calls")
    assert calls < MOST_CALLS


def test_deep_groups_with_assertions() -> None:
    def from_deep_inside(levels: int) -> None:
        if levels:
            return from_deep_inside(levels - 1)
        regex_expr("(?:a|" * 95 + r"\bx" + ")+b" * 95, search=True)

    for levels in (0, 200, 400, 600, 800):
        try:
            from_deep_inside(levels)
        except StackmaskError as error:
            assert "G015" in str(error) or "G009" in str(error)


def test_a_usual_pattern_is_read_with_few_calls() -> None:
    pattern = r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$"
    regex_expr(pattern, search=True)
    calls = calls_of(lambda: regex_expr(pattern, search=True))
    print(f"{calls} calls")
    assert calls < 400


@pytest.mark.parametrize("flavor", ["ecma", "python", "rust"])
@pytest.mark.parametrize(
    "count", ["{" + "9" * 60_000, "{" + " " * 60_000, "{9," + "9" * 60_000, "{ 9 , " + " " * 60_000]
)
def test_counts_that_never_end(flavor: Literal["ecma", "python", "rust"], count: str) -> None:
    # a guard against hangs: minutes or more, if each blank and digit were tried as the last one
    with contextlib.suppress(StackmaskError):
        Grammar.from_regex("a" + count, flavor=flavor)


def test_assertions_compare_classes_once() -> None:
    def read() -> None:
        expr = regex_expr("".join(f"[a-z](?<!{chr(97 + i % 26)})" for i in range(600)))
        assert sum(1 for _ in walk(expr)) < 1_000

    assert calls_of(read) < 2 * MOST_CALLS


@pytest.mark.campaign
def test_anchors_count() -> None:
    def read() -> None:
        with pytest.raises(BudgetError):
            Grammar.from_regex("^$" * 32_750, flavor="python")

    calls = calls_of(read)
    print(f"{calls} calls")
    assert calls < 2 * MOST_CALLS
