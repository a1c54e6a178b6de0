"""Loops whose rounds look at the character beside them: counters stay counters, and `re` agrees."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from support.byte_matcher import ByteMatcher

from stackmask import Grammar
from stackmask.grammar.ir import walk
from stackmask.grammar.regex.compile import regex_expr

LARGE = {
    r"(?:\b[A-Z][a-z]+\b ?){1,200}": (["Ada Lovelace Byron", "Ada "], ["AdaLovelace", "", "ada"]),
    r"(?:\b\w{1,1000}\b ?){1,100}": (["a b c", "a" * 1000 + " b"], [" a", "a  b", "a " * 101]),
    r"(?:\w{1,20}\b[ ,]?){1,1000}": (["a,b c", "x"], ["a" * 21, "a,,b"]),
    r"(?:[a-z]+(?:-(?=[a-z]))?){1,200}": (["ab-cd-e", "ab"], ["ab-", "-a", "a--b"]),
    r"(?:(?<!-)-?[a-z0-9]){1,63}": (["a-b", "-a", "a" * 63], ["a--b", "a-", "a" * 64]),
    r"(?:[a-z0-9](?:-(?!-))?){1,63}": (["a-b-", "ab"], ["a--b", "-a"]),
    r"(?:a\b|b\b){3,500}": ([], ["ab", "aba", "a"]),
    r"(?:a\b){0,500}": (["", "a"], ["aa"]),
}


@pytest.mark.parametrize("pattern", LARGE)
def test_large_counters_stay(pattern: str) -> None:
    assert sum(1 for _ in walk(regex_expr(pattern))) < 40
    matcher = ByteMatcher(Grammar.from_regex(pattern))
    inside, outside = LARGE[pattern]
    assert [text for text in inside if not matcher.matches(text)] == []
    assert [text for text in outside if matcher.matches(text)] == []


PARTS = (
    "a",
    "b",
    "-",
    " ",
    "[ab]",
    "[a-]",
    r"\w",
    "a?",
    "b*",
    "-?",
    "(?:ab)?",
    "a{1,3}",
    "[ab]+",
    "(?:a|-)",
    "(?:-|)",
)
EDGES = (
    r"\b",
    r"\B",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    "(?<!-)",
    "(?=-)",
    "(?! )",
    "^",
    "$",
    "(?<![ab])",
    r"(?<=\W)",
)


def test_random_loops_against_re() -> None:
    rng = random.Random(5)

    def body() -> str:
        return "".join(rng.choice(PARTS if rng.random() < 0.6 else EDGES) for _ in range(rng.randrange(1, 5)))

    matches = 0
    for _ in range(150):
        low = rng.randrange(4)
        high = rng.choice(("", low + rng.randrange(3) + (low == 0)))
        inner = body() if rng.random() < 0.7 else f"{body()}|{body()}"
        pattern = f"{rng.choice(('', 'a', '-', '(?<!a)'))}(?:{inner}){{{low},{high}}}{rng.choice(('', 'b', '-', '(?!a)'))}"
        search = rng.random() < 0.4
        judge = re.compile(pattern)
        matcher = ByteMatcher(Grammar.from_regex(pattern, flavor="python", search=search))
        for _ in range(30):
            text = "".join(rng.choices("ab- ", k=rng.randrange(9)))
            want = (judge.search(text) if search else judge.fullmatch(text)) is not None
            assert matcher.matches(text) == want, (pattern, search, text)
            matches += want
    assert matches > 300


@pytest.mark.parametrize(
    "body", ["(?!^b)[ab]", r"a(?=\b-)-|b", r"(?<!a\b)-|a", "[ab](?!$|-)|a-", "(?!(?=a)ab)[ab]-?"]
)
def test_what_looks_ask_at_their_own_place_keeps_loops_plain(body: str) -> None:
    pattern = f"(?:{body})*"
    judge, matcher = re.compile(pattern), ByteMatcher(Grammar.from_regex(pattern, flavor="python"))
    for length in range(6):
        for text in map("".join, product("ab-", repeat=length)):
            assert matcher.matches(text) == (judge.fullmatch(text) is not None), text
