"""Runs of classes of characters put together from kinds of characters: every bit against a textbook automaton."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from oracle.regular import Dfa, TooLarge, compile_dfa
from support.campaign import mostly_campaign

import stackmask as sm

# letters on both sides of the kinds, marks, blanks, characters of two to four bytes, and pieces of them
PIECES = [*'abfgzABFGZ019_-.,="\\/ \t\n', "u00", "é", "ß", "я", "→", "語", "한", "😀"]
BROKEN = [
    b"\x80",
    b"\xc3",
    b"\xe8\xaa",
    b"\xf0\x9f\x98",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xff",
    b"\xa9z",
    b"\x01",
    b"\x7f",
]
CLASSES = [
    "[a-z]",
    "[a-f0-9]",
    "[A-Za-z0-9_]",
    "[a-bx-z_.]",
    "[^,]",
    '[^"\\\\]',
    "[^a-z]",
    "[ \\t\\n]",
    "[a-zà-ÿ]",
    "[\\u0400-\\U0010FFFF]",
    "[-,.=]",
    "[a-z語]",
]
ITEMS = [
    '([^"\\\\\\x00-\\x1f] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4}))',
    '([a-z] | "\\\\" [0-9a-z])',
    '("ab" | "b" | [0-9] "a")',
    '([a-f] | "\\\\u00" [0-9] [a-f0-9])',
]
COUNTS = ["*", "+", "{1,3}", "{0,2}", "{2,}", "{3,9}", "{4}", "{1,30}"]
FOLLOWED = [
    '","',
    '"="',
    '"\\""',
    '"=é"',
    '("," | "; ")',
    '"-" [0-9]*',
    '"\\n" "="*',
    '""',
    '("=" | "z")',
    '"→"',
]
BEGUN = ["", "", "", '"\\""', "[A-Za-z_]", "[a-z語]", "[0-9]"]


def vocabulary(seed: int) -> sm.Vocabulary:
    """Return all bytes, and tokens of which many are runs of few kinds: enough for run tables."""
    rng = random.Random(seed)
    words: set[bytes] = set()
    while len(words) < 1400:
        some = rng.sample(PIECES, rng.randint(1, 5))
        word = "".join(rng.choice(some) for _ in range(rng.randint(1, 8))).encode()
        if rng.random() < 0.1:
            word += rng.choice(BROKEN)
        if rng.random() < 0.05:
            word = rng.choice(BROKEN) + word
        if rng.random() < 0.2:
            word += rng.choice([b",", b"=", b'"', b'",', b"=\xc3", b"; ", b"-1", b"\n="])
        if len(word) > 1:
            words.add(word)
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens += [None, *sorted(words), b"ab", b"zz"]
    rng.shuffle(tokens)
    return sm.Vocabulary(tokens, stop_ids=[tokens.index(None)])


def step(dfa: Dfa, state: int, text: bytes) -> int:
    """Return the state behind a text, or -1."""
    for byte in text:
        state = dfa.steps[state].get(byte, -1)
        if state < 0:
            return -1
    return state


def random_rule(rng: random.Random) -> str:
    runs = [rng.choice(CLASSES if rng.random() < 0.7 else ITEMS) + rng.choice(COUNTS) for _ in range(2)]
    one = f"{rng.choice(BEGUN)} {runs[0]} {rng.choice(FOLLOWED)}"
    if rng.random() < 0.5:
        one += f" {runs[1]} {rng.choice(FOLLOWED)}"
    if rng.random() < 0.3:
        one = f"({one}) | {rng.choice(BEGUN)} {runs[1]} {rng.choice(FOLLOWED)}"
    return one


def check(matcher: sm.Matcher, dfa: Dfa, state: int, texts: sm.Vocabulary, rule: str) -> list[int]:
    """Compare a mask with the automaton; return the allowed tokens that are text."""
    mask = sm.allocate_token_bitmask(1, texts.size)
    matcher.fill_next_token_bitmask(mask)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: texts.size]
    for token, text in enumerate(texts.tokens):
        wanted = step(dfa, state, text) >= 0 if text else text is None and state in dfa.accepting
        assert bool(bits[token]) == wanted, (rule, token, text)
    return [int(k) for k in np.flatnonzero(bits) if texts.tokens[k]]


@pytest.mark.parametrize("cache_bytes", [None, 150_000])
@pytest.mark.parametrize("seed", mostly_campaign(range(6), 2))
def test_masks_of_random_classes(seed: int, cache_bytes: int | None) -> None:
    rng = random.Random(100 + seed)
    texts = vocabulary(seed)
    compiler = sm.Compiler(texts) if cache_bytes is None else sm.Compiler(texts, cache_bytes=cache_bytes)
    for _ in range(12):
        rule = random_rule(rng)
        grammar = sm.Grammar.from_ebnf(f"root ::= {rule}")
        try:
            dfa = compile_dfa(grammar.rules.rules["root"].body, grammar.rules.rules)
        except TooLarge:
            continue
        if dfa.is_empty():
            continue
        matcher = compiler.compile(grammar).matcher()
        state = 0
        for _ in range(rng.randint(1, 14)):
            allowed = check(matcher, dfa, state, texts, rule)
            if not allowed:
                break
            # now one byte at a time, now a long token
            token = max(rng.sample(allowed, min(3, len(allowed))), key=lambda k: len(texts.tokens[k] or b""))
            assert matcher.accept_token(token)
            state = step(dfa, state, texts.tokens[token] or b"")


@pytest.mark.parametrize("item", ["[^,]", "[a-zà-ÿ]", ITEMS[0], ITEMS[2]])
@pytest.mark.parametrize("low", [0, 1, 3])
def test_counts_are_of_characters(item: str, low: int) -> None:
    texts = vocabulary(77)
    compiler = sm.Compiler(texts)
    for high in (low + 1, low + 2, low + 6):
        for behind in ('","', '"\\","', '("," | "=")'):
            rule = f"{item}{{{low},{high}}} {behind}"
            grammar = sm.Grammar.from_ebnf(f"root ::= {rule}")
            dfa = compile_dfa(grammar.rules.rules["root"].body, grammar.rules.rules)
            check(compiler.compile(grammar).matcher(), dfa, 0, texts, rule)


def test_tokens_of_more_characters_than_sixteen_bits_count() -> None:
    lengths = [65535, 65536, 70_000, 140_000]
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens += [None, *(b"a" * n for n in lengths), *(b"a" * n + b"," for n in lengths)]
    tokens += [bytes(word) + end for word in itertools.product(b"abc1", repeat=4) for end in (b"", b",")]
    texts = sm.Vocabulary(tokens, stop_ids=[256])
    compiler = sm.Compiler(texts)
    mask = sm.allocate_token_bitmask(1, texts.size)
    for letters in (b"ab", b"abc"):
        for low, high in [(0, 4), (0, 65536), (1, 4464), (0, 70_000), (1, 65537), (2, 8928), (70_000, None)]:
            rule = f"root ::= [{letters.decode()}]{{{low},{high or ''}}} ','"
            compiler.compile(sm.Grammar.from_ebnf(rule)).matcher().fill_next_token_bitmask(mask)
            bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
            for token, text in enumerate(tokens):
                if text is None:
                    continue
                run = len(text) - len(text.lstrip(letters))
                fits = high is None or run <= high
                wanted = fits and (run == len(text) or (run >= low and text[run:] == b","))
                assert bool(bits[token]) == wanted, (rule, text[:5], len(text))
