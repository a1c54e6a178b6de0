"""Random patterns in both engines: full matches are those of `re`, and masks are equal at every state."""

from __future__ import annotations

import random
import re
import warnings

import pytest
from oracle import random_regexes as randoms
from support.both_engines import compile_both, walk_all
from support.campaign import SCALE, mostly_campaign

import stackmask as sm

WORDS = random.Random(5)
TOKENS: list[bytes | None] = [bytes([b]) for b in range(256)]
TOKENS += [
    "".join(WORDS.choices(randoms.PYTHON_CHARACTERS, k=WORDS.randint(2, 6))).encode() for _ in range(500)
]
TOKENS += ["é".encode()[:1] + b"x", "é".encode()[1:] + b"a", b"", None, None, None]
COMPILER = sm.Compiler(sm.Vocabulary(TOKENS, stop_ids=[len(TOKENS) - 3, len(TOKENS) - 1]))


@pytest.mark.parametrize("seed", mostly_campaign(range(8 * SCALE), 3))
def test_random_patterns(seed: int) -> None:
    rng = random.Random(f"fsm {seed}")
    judged = places = too_large = 0
    while judged < 40:
        small = rng.random() < 0.3
        pattern = randoms.small_pattern(rng) if small else randoms.python_pattern(rng)
        flags = rng.choice(("", "", "i", "s", "m"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                regex = re.compile(pattern, sum(getattr(re, flag.upper()) for flag in flags))
            except re.error:
                continue
        search = rng.random() < 0.3
        try:
            grammar = sm.Grammar.from_regex(pattern, flavor="python", flags=flags, search=search)
        except sm.GrammarError:
            continue
        try:
            both = compile_both(grammar, COMPILER)
        except sm.fsm.FsmBudgetError:  # one in hundreds has too many states
            too_large += 1
            assert too_large <= 3
            continue
        judged += 1
        texts = [
            "".join(rng.choices("ab \n" if small else randoms.PYTHON_CHARACTERS, k=rng.randrange(7)))
            for _ in range(30)
        ]
        for text in texts:
            answer = (regex.search(text) if search else regex.fullmatch(text)) is not None
            assert (both is not None and both[1].dfa.matches(text.encode())) == answer, (pattern, flags, text)
        if both is not None:
            places += walk_all(*both, rng)
    assert places > 150


@pytest.mark.parametrize("seed", mostly_campaign(range(4 * SCALE), 1))
def test_random_patterns_of_javascript(seed: int) -> None:
    rng = random.Random(f"fsm ecma {seed}")
    places = tries = 0
    while places < 150:
        tries += 1
        assert tries <= 400
        try:
            both = compile_both(sm.Grammar.from_regex(randoms.ecma_pattern(rng, ""), flavor="ecma"), COMPILER)
        except (sm.GrammarError, sm.fsm.FsmBudgetError):
            continue
        if both is not None:
            places += walk_all(*both, rng)


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        ("(ab)+", 3),
        ("(a|b)*abb", 4),
        ("a*b*|a*", 2),
        ("(a+)+$", 2),
        ("(.*)*b", None),
        ("(a|b)*a(a|b){3}", 16),
        ("x{3,5}", 6),
        ("a{30}", 31),
        ("", 1),
        ("[a-z]", 2),
        ("foo|foobar|fo", 7),
    ],
)
def test_the_automaton_is_minimal(pattern: str, states: int | None) -> None:
    found = compile_both(sm.Grammar.from_regex(pattern, flavor="rust"), COMPILER)
    assert found is not None
    pushdown, finite = found
    if states is not None:
        assert finite.stats()["states"] == states
    walk_all(pushdown, finite, random.Random(0))
    arrays = finite.dfa.arrays()
    n = finite.dfa.states
    kinds = list(arrays["accepting"])
    # Moore's rounds, on whole rows, leave every state alone
    while True:
        rows = [
            (kinds[s], tuple(kinds[t] if (t := finite.dfa.next_state(s, b)) >= 0 else -1 for b in range(256)))
            for s in range(n)
        ]
        numbers = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        fresh = [numbers[row] for row in rows]
        if len(set(fresh)) == len(set(kinds)):
            break
        kinds = fresh
    assert len(set(kinds)) == n


def test_equal_languages_are_equal_automata() -> None:
    def arrays(pattern: str) -> str:
        return sm.fsm.compile(sm.Grammar.from_regex(pattern), COMPILER.vocabulary).dfa.dump()

    assert arrays("(a|b)*") == arrays("(a*b*)*") == arrays("[ab]*?")
    assert arrays("ab|ac") == arrays("a[bc]")
    assert arrays("ab|ac") != arrays("a[bd]")


def test_choices() -> None:
    words = [f"item {i * i}" for i in range(400)]
    found = compile_both(sm.Grammar.from_choices(words), COMPILER)
    assert found is not None
    walk_all(*found, random.Random(1))
    assert all(found[1].dfa.matches(word.encode()) for word in words)
    assert not found[1].dfa.matches(b"item 2")


def test_patterns_of_bytes() -> None:
    found = compile_both(sm.Grammar.from_regex(rb"\xff[\x00-\x7f]*\xc3", flavor="python"), COMPILER)
    assert found is not None
    walk_all(*found, random.Random(2))
    assert found[1].dfa.matches(b"\xffab\xc3") and not found[1].dfa.matches(b"\xff\x80\xc3")
