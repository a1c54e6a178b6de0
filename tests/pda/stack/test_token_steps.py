"""A token leads where its bytes lead, whichever is asked first: its places are not entered one by one."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from support.campaign import mostly_campaign

import stackmask as sm

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "names": {"enum": ["aa", "ab", "abc", 12, None]},
        "é": {"type": "object", "properties": {"ab": {"type": "integer", "maximum": 120}}},
    },
    "additionalProperties": {"type": "string", "pattern": "^(a|bc)*$"},
}
GRAMMARS = {
    "keys": sm.Grammar.from_json_schema(SCHEMA, property_order="any"),
    "order": sm.Grammar.from_json_schema(SCHEMA),
    "tags": sm.Grammar.bundled("xml"),  # captures keep every byte
    "restrictions": sm.Grammar.from_ebnf(
        'root ::= (w " "? | "abc" !>>[a-c])* \nw ::= [a-c]{1,4} !>>[a-c] | "a" w'
    ),
    "ambiguous": sm.Grammar.from_ebnf('root ::= root root | "ab" | "a" root "c" | "abc"'),
    "literals": sm.Grammar.from_ebnf(
        'root ::= ("abcabc" | "abcab" [ab] | "ab" end)+ \nend ::= "c" | "cabca"? "."'
    ),
    "without": sm.Grammar.from_ebnf(r'root ::= (!"abc" & [a-c]{1,6}) ("." root)?'),
}


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    rng = random.Random(5)
    pieces = {bytes([b]) for b in range(256)} | {b'"name"', b'name":', b'names": "', "é".encode(), b"abcabc"}
    while len(pieces) < 700:
        alphabet = rng.choice(["abc", 'abc"', "ab. c", '{}":, ', "</a>b", "012", 'names":'])
        pieces.add("".join(rng.choices(alphabet, k=rng.randint(2, 6))).encode())
    return sm.Vocabulary([*sorted(pieces), None], stop_ids=[len(pieces)])


def allowed(matcher: sm.Matcher, size: int) -> list[int]:
    mask = sm.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(mask)
    return [int(i) for i in np.flatnonzero(np.unpackbits(mask.view(np.uint8)[0], bitorder="little")[:size])]


def check_step(matcher: sm.Matcher, token: int, text: bytes, rng: random.Random) -> bool:
    """Take one token in both ways, in random order, and say whether it may come."""
    by_bytes, by_token = matcher.fork(), matcher.fork()
    steps = [lambda: by_bytes.accept_string(text), lambda: by_token.accept_token(token)]
    rng.shuffle(steps)
    verdicts = {step() for step in steps}
    assert len(verdicts) == 1, (text, matcher.describe())
    if verdicts == {True}:
        # equal places of a family are one, so they are described alike
        assert by_bytes.describe() == by_token.describe()
        assert by_bytes.is_accepting() == by_token.is_accepting()
    return verdicts == {True}


@pytest.mark.parametrize("cache_bytes", mostly_campaign([1, 1 << 29], 1))
@pytest.mark.parametrize("name", mostly_campaign(GRAMMARS, 3))
def test_tokens_lead_where_their_bytes_lead(vocabulary: sm.Vocabulary, name: str, cache_bytes: int) -> None:
    rng = random.Random(name)
    compiled = sm.Compiler(vocabulary, cache_bytes=cache_bytes).compile(GRAMMARS[name])
    taken = 0
    for _ in range(25):
        matcher = compiled.matcher()
        for _ in range(12):
            choices = allowed(matcher, vocabulary.size - 1)
            others = rng.sample(range(vocabulary.size - 1), 6)
            for token in [*rng.sample(choices, min(6, len(choices))), *others]:
                if text := vocabulary.tokens[token]:
                    assert check_step(matcher, token, text, rng) == (token in choices)
                    taken += token in choices
            if not choices:
                break
            # long tokens have places within them
            token = max(
                rng.sample(choices, min(5, len(choices))), key=lambda t: len(vocabulary.tokens[t] or b"")
            )
            assert matcher.accept_token(token)
            if rng.random() < 0.2:
                matcher.rollback(rng.randint(1, matcher.accept_calls))
    assert taken > 100


def test_one_token_at_several_offsets_of_another() -> None:
    """A place that tokens reach with a different part of them behind it tells them apart."""
    vocabulary = sm.Vocabulary([bytes([b]) for b in range(256)] + [b"aab", b"ab", b"aaab", b"aabab"])
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= ("a"{1,3} "b"){1,3} "c"'))
    rng = random.Random(1)
    for _ in range(200):
        matcher = compiled.matcher()
        for _ in range(6):
            token = rng.choice([256, 257, 258, 259, ord("a"), ord("b"), ord("c")])
            if check_step(matcher, token, vocabulary.tokens[token] or b"", rng):
                assert matcher.accept_token(token)


def test_many_tokens_from_few_places() -> None:
    """What is noted of steps is overwritten and grows: more tokens than there is room for, again and again."""
    words = [
        "".join(letters).encode() for n in (2, 3) for letters in itertools.product("abcdefghijklm", repeat=n)
    ]
    vocabulary = sm.Vocabulary([bytes([b]) for b in range(256)] + words)
    compiled = sm.Compiler(vocabulary).compile(
        sm.Grammar.from_ebnf("root ::= ([a-g]{2} [a-j] | [h-m]{3,4})*")
    )
    rng = random.Random(2)
    places = [compiled.matcher()]
    for text in ("a", "ab", "h", "hi", "hijk"):
        places.append(compiled.matcher())
        assert places[-1].accept_string(text)
    tokens = range(256, len(words) + 256)
    right: dict[tuple[int, int], list[str] | None] = {}
    for number, place in enumerate(places):
        for token in tokens:
            after = place.fork()
            right[number, token] = after.describe() if after.accept_string(words[token - 256]) else None
    for _ in range(3):
        for number, token in rng.sample(sorted(right), 8_000):
            after = places[number].fork()
            assert after.accept_token(token) == (right[number, token] is not None)
            assert after.describe() == (right[number, token] or places[number].describe())
