"""The strings that a pattern takes whole are those that a backtracking matcher takes, whatever stands behind them."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from support.byte_matcher import ByteMatcher

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import Rule, RuleSet
from stackmask.grammar.languages.classes import TooLarge
from stackmask.grammar.languages.forms import paths
from stackmask.grammar.regex.automaton import MAX_CLASSES, looks_before, whole_strings
from stackmask.grammar.regex.compile import read_tree
from stackmask.grammar.source.work import measured

ATOMS = (
    "a",
    "b",
    "[ab]",
    ".",
    "(?:a|ab)",
    "(?:b|)",
    "(?:ab|b)",
    "(?:a+?)",
    "(?:1|)",
    "(?!a)",
    "(?!b1)",
    "(?<!a)",
    "(?<=b)",
    r"\b",
    "$",
)
QUANTIFIERS = ("", "", "", "?", "*", "+", "??", "*?", "+?", "{1,2}")
PATTERNS = (
    "a.*?b",
    "a|ab",
    "(a|ab)(b|ba)?",
    '"(?!"").*?"',
    r"0(_?0)*(?![1-9])",
    r"(?a:(?!(?:ab|b)\b)[ab]+\b)",
    "[ab]+?(?<!a)b",
    r"(?:ab?)*?b\Z",
)
CHARACTERS = "ab1 "


def ends(pattern: str, text: str, regex: Any) -> set[int]:
    """Return the places where the first match that is at most so long may end, by another engine."""
    found = set()
    for end in range(len(text) + 1):
        match = regex.match(rf"(?:{pattern})(?<=\A(?s:.{{0,{end}}}))", text)
        if match is not None and match.end() == end:
            found.add(end)
    return found


def random_pattern(rng: random.Random) -> str:
    return "".join(
        atom + ("" if atom in (r"\b", "$") or atom.startswith(("(?!", "(?<")) else rng.choice(QUANTIFIERS))
        for atom in rng.choices(ATOMS, k=rng.randint(1, 4))
    )


def check(pattern: str, characters: str, regex: Any) -> bool:
    """Compare on all texts; False for patterns that are refused or cannot be told by one character."""
    tree = read_tree(pattern)
    if looks_before(tree.node) is not None:
        return False
    try:
        found = whole_strings(tree.node, dict(tree.lazy))
    except TooLarge:
        return False
    if found.is_narrow:
        return False
    parts = [
        (ByteMatcher(Grammar(RuleSet({"root": Rule("root", expr)}, "root"))), forbidden)
        for expr, forbidden in found.parts
    ]
    for length in range(5):
        for text in map("".join, product(characters, repeat=length)):
            own = {
                end
                for end in range(length + 1)
                for matcher, forbidden in parts
                if matcher.matches(text[:end])
                and not (end < length and any(low <= ord(text[end]) <= high for low, high in forbidden))
            }
            assert own == ends(pattern, text, regex), (pattern, text)
    return True


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern: str) -> None:
    regex = pytest.importorskip("regex")
    assert check(pattern, '"ab' if '"' in pattern else "0_1" if "0" in pattern else "ab1", regex)


def test_random_patterns() -> None:
    regex = pytest.importorskip("regex")
    rng = random.Random(7)
    compared = sum(check(random_pattern(rng), "ab1", regex) for _ in range(120))
    assert compared >= 50


def test_classes_of_characters_are_counted() -> None:
    def work(count: int) -> tuple[int, bool]:
        tree = read_tree("".join(f"[\\x00-\\u{0x100 + 2 * i:04x}]" for i in range(count)))

        def is_read() -> bool:
            try:
                return bool(whole_strings(tree.node, dict(tree.lazy)).parts)
            except TooLarge:
                return False

        found, units = measured(is_read)
        return units, found

    assert work(MAX_CLASSES - 1)[1]  # one more is of all other characters
    assert not work(MAX_CLASSES)[1]
    assert work(2_000)[0] <= 2.5 * work(1_000)[0]


def test_patterns_of_one_way_take_all_their_strings() -> None:
    rng = random.Random(3)
    single = 0
    for _ in range(400):
        tree = read_tree(
            "".join(a + rng.choice(QUANTIFIERS) for a in rng.choices(ATOMS[:9], k=rng.randint(1, 3)))
        )
        if not paths(tree.node, tree.lazy).is_single:
            continue
        single += 1
        (part,) = whole_strings(tree.node, dict(tree.lazy)).parts
        assert not part[1]
        whole = ByteMatcher(Grammar(RuleSet({"root": Rule("root", part[0])}, "root")))
        every = ByteMatcher(Grammar(RuleSet({"root": Rule("root", tree.node)}, "root")))  # type: ignore[arg-type]
        for length in range(4):
            for text in map("".join, product(CHARACTERS, repeat=length)):
                assert whole.matches(text) == every.matches(text)
    assert single >= 40
