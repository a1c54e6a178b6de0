"""Inline regexes against Python's ``re`` on random patterns and texts, where the two mean the same."""

from __future__ import annotations

import random
import re

from oracle.earley import Recognizer

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.regex.flavours.inline import parse_regex
from stackmask.grammar.source.diagnostics import Collector

ALPHABET = "abAB1_ \n.é"


def random_pattern(rng: random.Random, depth: int = 3) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return rng.choice(
            [
                "a",
                "b",
                "A",
                "1",
                "é",
                ".",
                r"\.",
                r"\d",
                r"\W",
                r"\s",
                r"\n",
                r"\x61",
                "[ab]",
                "[^a1]",
                r"[\w.-]",
                "[A-Z]",
            ]
        )
    if kind < 0.6:
        return "".join(random_pattern(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    if kind < 0.75:
        options = [random_pattern(rng, depth - 1) for _ in range(rng.randint(1, 3))] + [""] * (
            rng.random() < 0.2
        )
        return rng.choice(["(?:", "(", "(?i:", "(?s:"]) + "|".join(options) + ")"
    quantifier = rng.choice(["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?", "+?", "??", "{1,2}?"])
    return f"(?:{random_pattern(rng, depth - 1)}){quantifier}"


def test_random_patterns_mean_what_they_mean_in_python() -> None:
    rng = random.Random(7)
    accepted = 0
    for _ in range(250):
        pattern = random_pattern(rng)
        ours = Recognizer(Grammar.from_ebnf(f"root ::= /{pattern}/").rules)
        theirs = re.compile(pattern, re.ASCII)
        for _ in range(12):
            text = "".join(rng.choices(ALPHABET, k=rng.randrange(5)))
            matches = theirs.fullmatch(text) is not None
            if "(?i:" in pattern and "é" in pattern:
                continue  # with re.ASCII, Python ignores the case of ASCII letters only
            assert ours.accepts(text.encode()) == matches, (pattern, text)
            accepted += matches
    assert accepted > 300


def test_long_patterns_and_deep_groups_do_not_recurse() -> None:
    problems = Collector()
    text = "(a|b)" * 20_000
    parse_regex(text, 0, len(text), "", problems)
    assert not problems.found
    text = "(" * 20_000 + ")" * 20_000
    parse_regex(text, 0, len(text), "", problems)
    assert [d.code for d in problems.found] == ["G015"]
