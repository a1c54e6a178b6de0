"""Semantic state by Python callables: the engine and the oracle agree where what was written before matters."""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest
from oracle.earley import Recognizer
from oracle.masks import advance_token

import stackmask
from exactness.walks import check_place, engine_mask
from stackmask.grammar.ir import (
    Capture,
    CharClass,
    Choice,
    Dynamic,
    Expr,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
    may_forbid_if,
)

LETTERS = CharClass(((ord("a"), ord("c")),))
WORD = Repeat(LETTERS, 1, 3)


def seen(value: Hashable) -> frozenset[bytes]:
    assert isinstance(value, frozenset)
    return value


def once(value: Hashable, text: bytes) -> Hashable | None:
    """Remember a key, and forbid it a second time."""
    return None if text in seen(value) else seen(value) | {text}


def any_seen(value: Hashable) -> Expr:
    return Choice(tuple(Literal(key) for key in sorted(seen(value))))


def longer(value: Hashable, text: bytes) -> Hashable | None:
    """Remember a length, which must grow."""
    assert isinstance(value, int)
    return len(text) if len(text) > value else None


def as_many(value: Hashable) -> Expr:
    assert isinstance(value, int)
    return Repeat(Literal(b"."), value, value)


def sequence(*items: Expr | str) -> Expr:
    return Sequence(tuple(Literal(i.encode()) if isinstance(i, str) else i for i in items))


KEY = Capture(WORD, once)
UNIQUE_KEYS = RuleSet(
    {
        "s": Rule("s", sequence("{", KEY, Repeat(sequence(",", KEY), 0, 3), "}")),
    },
    "s",
    frozenset(),
)
DECLARED_NAMES = RuleSet(
    {
        "s": Rule(
            "s", sequence(RuleRef("declared"), Repeat(Choice((RuleRef("use"), RuleRef("block"))), 0, None))
        ),
        "declared": Rule("declared", sequence("var ", KEY, ";")),
        "use": Rule("use", sequence(Dynamic(any_seen), ";")),
        "block": Rule("block", sequence("{", Scope(RuleRef("inner")), "}")),
        "inner": Rule("inner", sequence("var ", KEY, ";", RuleRef("use"))),
    },
    "s",
    frozenset(),
)
GROWING = RuleSet(
    {"s": Rule("s", Repeat(sequence(Capture(Repeat(LETTERS, 1, None), longer), Dynamic(as_many)), 1, None))},
    "s",
    0,
)
TEXTS = [
    "a",
    "b",
    "c",
    "ab",
    "abc",
    "a,",
    "b}",
    "ba,c",
    "aa;",
    "var ",
    "v",
    "r",
    "ar ",
    " ",
    ";",
    ";a",
    "{",
    "{var a",
    "}",
    ",",
]
TOKENS: list[bytes | None] = [*(t.encode() for t in TEXTS), b".", b"..", b"a.b", b"bb..c", None]


@pytest.mark.parametrize(
    "rules", [UNIQUE_KEYS, DECLARED_NAMES, GROWING], ids=["unique", "declared", "growing"]
)
def test_callables(rules: RuleSet) -> None:
    stop = len(TOKENS) - 1
    compiled = stackmask.Compiler(stackmask.Vocabulary(TOKENS, stop_ids=[stop])).compile(
        stackmask.Grammar(rules)
    )
    recognizer = Recognizer(rules)
    for seed in range(15):
        rng = random.Random(seed)
        matcher, place = compiled.matcher(), [recognizer.start()]
        for _ in range(10):
            allowed = check_place(matcher, recognizer, place, TOKENS, [stop])
            going_on = sorted(allowed - {stop})
            if not going_on:
                break
            token = rng.choice(going_on)
            assert matcher.accept_token(token)
            place = advance_token(recognizer, place, token, TOKENS[token])


@may_forbid_if(lambda value, text: any(key.startswith(text) for key in seen(value)))
def new(value: Hashable, text: bytes) -> Hashable | None:
    return None if text in seen(value) else value


def known(value: Hashable, text: bytes) -> Hashable | None:
    return value if text in seen(value) else None


def test_actions_that_come_later() -> None:
    # what no action of the first grammar can forbid, one of the second can
    compiler = stackmask.Compiler(stackmask.Vocabulary([*TOKENS, b"c;"], stop_ids=[len(TOKENS) - 1]))
    for action, allowed in ((new, True), (known, False), (new, True)):
        rules = RuleSet({"s": Rule("s", sequence(Capture(WORD, action), ";"))}, "s", frozenset([b"a", b"ab"]))
        matcher = compiler.compile(stackmask.Grammar(rules)).matcher()
        for text in ("", "c"):
            assert matcher.accept_string(text)
            mask = engine_mask(matcher, len(TOKENS) + 1)
            assert (TEXTS.index(";") in mask) == (allowed and text != "")
            assert (len(TOKENS) in mask) == allowed
