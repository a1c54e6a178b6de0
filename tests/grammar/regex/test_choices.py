"""``Grammar.from_choices``: exactly these strings, however many."""

from __future__ import annotations

import random
from functools import partial

import pytest
from support.byte_matcher import ByteMatcher
from support.work import calls_of

from stackmask import Grammar, GrammarError, StackmaskError


def test_exactly_these() -> None:
    matcher = ByteMatcher(Grammar.from_choices(["yes", "no", "yes please", "é", b"\xff", "no"]))
    assert all(matcher.matches(text) for text in ("yes", "no", "yes please", "é", b"\xff"))
    assert not any(matcher.matches(text) for text in ("", "ye", "yes ", "nono", b"\xc3"))


def test_the_empty_string_is_a_choice() -> None:
    matcher = ByteMatcher(Grammar.from_choices(["", "a"]))
    assert matcher.matches("") and matcher.matches("a")
    assert ByteMatcher(Grammar.from_choices([""])).matches("")


def test_none_at_all() -> None:
    with pytest.raises(GrammarError, match="G103"):
        _ = Grammar.from_choices([]).normalized


def test_half_a_character_is_refused() -> None:
    with pytest.raises(StackmaskError, match="surrogate"):
        Grammar.from_choices(["a", "\ud800"])


def test_wrong_types_are_named() -> None:
    for strings in ("abc", b"abc", None, 3):
        with pytest.raises(StackmaskError, match="choices are a list of strings, not"):
            Grammar.from_choices(strings)  # type: ignore[arg-type]
    for string in (3, None, ["a"]):
        with pytest.raises(StackmaskError, match="a choice is str or bytes, not"):
            Grammar.from_choices(["a", string])  # type: ignore[list-item]


@pytest.mark.campaign
def test_a_hundred_thousand() -> None:
    rng = random.Random(16)
    words = {"".join(rng.choices("abcdefghij", k=rng.randint(4, 12))) for _ in range(100_000)}
    matcher = ByteMatcher(Grammar.from_choices(words))
    for word in rng.sample(sorted(words), 100):
        assert matcher.matches(word)
        assert matcher.matches(word + "a") == (word + "a" in words)
        assert matcher.matches(word[:-1]) == (word[:-1] in words)
    shuffled = rng.sample(sorted(words), 20_000)
    few, many = (calls_of(partial(Grammar.from_choices, shuffled[:n])) for n in (10_000, 20_000))
    assert many < 2.5 * few  # the square would be four times as much
