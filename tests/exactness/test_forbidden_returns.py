"""Captures of bounded runs whose action may forbid their end: where no more characters may come, it decides.

The vocabulary is the embedded model's, so that tokens are taken from tables of runs and whole subtrees. Every bit of
the mask is compared with whether the matcher accepts the token.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest

import stackmask as sm
from stackmask.grammar.ir import (
    Capture,
    CharClass,
    Choice,
    Complement,
    Expr,
    Intersection,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Sequence,
)
from stackmask.runtime.embedded import load_embedded

LETTER = CharClass(((ord("a"), ord("z")),))
PRINTABLE = CharClass(((0x20, 0x7E), (0x80, 0xD7FF), (0xE000, 0x10FFFF)))
BEFORE = b"somewordsstandhere\nandothersdohere\n"  # from several states on, runs of a class have tables


def captured(kind: str, character: Expr, most: int) -> Expr:
    run = Repeat(character, 1, most)
    match kind:
        case "run":
            return run
        case "run or word":
            word = Sequence((Repeat(CharClass(((ord("a"), ord("d")),)), 0, None), Literal(b"=")))
            return Choice((run, word))
        case "run behind a rule":
            return Sequence((RuleRef("nest"), run))
        case "run that is no word":
            return Intersection((run, Complement(Literal(b"ab"))))
    raise AssertionError(kind)


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    return sm.Vocabulary.from_huggingface(load_embedded()[1])


@pytest.mark.parametrize("kind", ["run", "run or word", "run behind a rule", "run that is no word"])
@pytest.mark.parametrize("character", [LETTER, PRINTABLE], ids=["letters", "printable"])
@pytest.mark.parametrize("most", [5, 8, 13])
def test_the_last_character_of_a_capture(
    vocabulary: sm.Vocabulary, kind: str, character: Expr, most: int
) -> None:
    def shorter(value: Hashable, text: bytes) -> Hashable | None:
        return value if len(text) < most else None

    line = Repeat(character, 1, 40)
    rules = RuleSet(
        {
            "s": Rule(
                "s",
                Sequence(
                    (
                        line,
                        Literal(b"\n"),
                        line,
                        Literal(b"\n"),
                        Capture(captured(kind, character, most), shorter),
                        Literal(b"\t"),
                    )
                ),
            ),
            "nest": Rule("nest", Choice((Literal(b"#"), Sequence((Literal(b"<"), RuleRef("nest")))))),
        },
        "s",
        (),
    )
    matcher = sm.Compiler(vocabulary).compile(sm.Grammar(rules)).matcher()
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    for byte in BEFORE + b"#abc":
        matcher.fill_next_token_bitmask(mask)
        allowed = np.unpackbits(mask.view(np.uint8), bitorder="little")
        for token in range(vocabulary.size):
            accepted = matcher.accept_token(token)
            if accepted:
                matcher.rollback(1)
            assert accepted == bool(allowed[token]), (vocabulary.tokens[token], matcher.describe())
        if not matcher.accept_string(bytes([byte])):
            assert byte == ord("#")
