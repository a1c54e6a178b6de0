"""Tokens that go on behind actions that may forbid, and behind resolvers, against a recogniser written out by hand.

The language: lists of words, `a,ab;b,aa on;`. No word stands twice or is `bb`; a list has an even number of words;
`on` may stand behind an even number of them.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable

import numpy as np
import pytest
from support.campaign import mostly_campaign

import stackmask as sm
from stackmask.grammar import ir

ALPHABET = "ab,; on"
SHORT = ["".join(letters) for n in (1, 2, 3) for letters in itertools.product(ALPHABET, repeat=n)]
LONG = ["".join(random.Random(5).choices("aabb,,;", k=n)) for n in range(4, 9) for _ in range(60)]
TOKENS = [
    text.encode() for text in dict.fromkeys(SHORT + LONG + [" on;a", "b on;", "a,b on;", "aaaa", "bbbb"])
]
VOCABULARY = sm.Vocabulary([*TOKENS, None], stop_ids=[len(TOKENS)])
WORD = re.compile(r"[ab]+")


def grammar(most: int | None, scoped: bool, bounded: bool) -> sm.Grammar:
    """Return the grammar. ``most``: bytes that the action of a list reads; ``scoped``: each list for itself."""

    def take(value: tuple[frozenset[bytes], int], text: bytes) -> object:
        words, count = value
        return None if text in words or text == b"bb" else (words | {text}, count + 1)

    def close(value: tuple[frozenset[bytes], int], text: bytes) -> object:
        assert most is None or len(text) <= most
        return None if value[1] % 2 else (value[0], 0)

    @ir.follows_restrictions
    def on(value: tuple[frozenset[bytes], int]) -> ir.Expr:
        return ir.NOTHING if value[1] % 2 else ir.Literal(b"on")

    if bounded:
        ir.answers_at_most(ir.Literal(b"on"))(on)
    if most is not None:
        ir.reads_at_most(most)(close)
    letter = ir.CharClass(((97, 98),))
    word = ir.Sequence(
        (ir.Capture(ir.Repeat(letter, 1, None), take), ir.NotFollowedBy((1 << ord("a")) | (1 << ord("b"))))
    )
    marked = ir.Repeat(ir.Sequence((ir.Literal(b" "), ir.Dynamic(on))), 0, 1)
    body: ir.Expr = ir.Sequence((word, ir.Repeat(ir.Sequence((ir.Literal(b","), word)), 0, None), marked))
    body = ir.Capture(body, close)
    rules = {
        "list": ir.Rule("list", ir.Scope(body) if scoped else body),
        "root": ir.Rule("root", ir.Repeat(ir.Sequence((ir.RuleRef("list"), ir.Literal(b";"))), 1, None)),
    }
    return sm.Grammar(ir.RuleSet(rules, "root", (frozenset(), 0)))


def goes_on(text: str, scoped: bool) -> bool:
    """Tell whether the text begins some text of the language."""
    *lists, last = text.split(";")
    seen: set[str] = set()
    for n, part in enumerate([*lists, last]):
        if scoped:
            seen = set()
        if n == len(lists):
            return begins(part, seen)
        part, _on, rest = part.partition(" on")
        words = part.split(",")
        if rest or len(words) % 2 or not enter(words, seen):
            return False
    raise AssertionError


def enter(words: list[str], seen: set[str]) -> bool:
    """Enter whole words, and tell whether they may all stand."""
    for word in words:
        if not WORD.fullmatch(word) or word == "bb" or word in seen:
            return False
        seen.add(word)
    return True


def begins(part: str, seen: set[str]) -> bool:
    """Tell whether a part begins a list behind words that were seen."""
    listed, blank, on = part.partition(" ")
    *words, last = listed.split(",")
    if blank:
        words.append(last)
        # behind an odd number of words a blank leads nowhere
        return "on".startswith(on) and len(words) % 2 == 0 and enter(words, seen)
    return enter(words, seen) and (not last or bool(WORD.fullmatch(last)))


@pytest.mark.parametrize("most", mostly_campaign([None, 0, 3], 2))
@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_masks_are_those_of_the_language(most: int | None, scoped: bool, bounded: bool) -> None:
    compiled = sm.Compiler(VOCABULARY).compile(grammar(most, scoped, bounded))
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    choice = random.Random(11)
    for _ in range(25):
        matcher = compiled.matcher()
        text = ""
        for _ in range(8):
            matcher.fill_next_token_bitmask(mask)
            bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(TOKENS)]
            allowed = {TOKENS[i].decode() for i in np.flatnonzero(bits)}
            assert allowed == {t.decode() for t in TOKENS if goes_on(text + t.decode(), scoped)}, repr(text)
            token = choice.choice(sorted(allowed))
            assert matcher.accept_token(TOKENS.index(token.encode()))
            text += token
    assert compiled.stats()["settled_places"]
    assert compiled.stats()["settled_places"] > compiled.stats()["tried_tokens"] // 10


def test_a_callable_is_asked_once_for_a_value_and_a_text() -> None:
    asked = []

    def note(value: object, text: bytes) -> object:
        asked.append((value, text))
        return value if text != b"b" else None

    item = ir.Sequence((ir.Capture(ir.CharClass(((97, 98), (111, 111))), note), ir.Literal(b",")))
    rules = {"root": ir.Rule("root", ir.Repeat(item, 1, None))}
    matcher = sm.Compiler(VOCABULARY).compile(sm.Grammar(ir.RuleSet(rules, "root", 0))).matcher()
    for _ in range(3):
        matcher.reset()
        assert matcher.accept_string("a,o,a,") and not matcher.accept_string("b")
    assert len(asked) == len(set(asked))


def test_a_bound_that_is_refused_leaves_nothing() -> None:
    """The resolvers behind it keep their own bounds."""
    compiler = sm.Compiler(sm.Vocabulary([bytes([b]) for b in range(256)] + [None], stop_ids=[256]))

    @ir.answers_at_most(ir.Repeat(ir.Literal(b"a"), 0, None))
    def refused(value: object) -> ir.Expr:
        return ir.Literal(b"a")

    def compiled(resolver: Callable[[object], ir.Expr]) -> sm.CompiledGrammar:
        body = ir.Sequence((ir.Literal(b"x"), ir.Dynamic(resolver), ir.Literal(b"y")))
        return compiler.compile(sm.Grammar(ir.RuleSet({"root": ir.Rule("root", body)}, "root", frozenset())))

    for _ in range(2):
        with pytest.raises(sm.StackmaskError):
            compiled(refused)
    mask = sm.allocate_token_bitmask(1, 257)
    for letter in b"bcd":

        def answer(value: object, letter: int = letter) -> ir.Expr:
            return ir.Literal(bytes([letter]))

        matcher = compiled(ir.answers_at_most(ir.Literal(bytes([letter])))(answer)).matcher()
        assert matcher.accept_string(b"x")
        matcher.fill_next_token_bitmask(mask)
        assert np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist() == [letter]
