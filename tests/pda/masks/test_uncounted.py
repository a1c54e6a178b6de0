"""Counts that tokens are too short to meet: states that differ in them alone share a mask. Masks are what tokens do."""

from __future__ import annotations

import random

import numpy as np
import pytest
from exactness.walks import compare_along

import stackmask as sm


def vocabulary() -> sm.Vocabulary:
    """Return bytes, words with blanks and commas, and few tokens so long that they may meet a count."""
    rng = random.Random(23)
    tokens: list[bytes | None] = [bytes([b]) for b in range(256)]
    tokens.append(None)
    words = {"".join(rng.choice("ab c,-") for _ in range(rng.randint(2, 6))) for _ in range(900)}
    words |= {"a " * 12, " a" * 12, "a,b," * 6, "ab-" * 9, '"]', '", "', 'a"', 'b c"', "x" * 30}
    tokens += [word.encode() for word in sorted(words)]
    return sm.Vocabulary(tokens, stop_ids=[256])


VOCABULARY = vocabulary()


@pytest.mark.parametrize(
    "pattern",
    [
        r"([a-c]+\s+){0,30}[a-c]+",
        r"([a-c]+\s+){3,14}[a-c]+",
        r"([a-c]{1,3},){0,20}",
        r"(ab|c-){0,25}(a,?){2,18}b",
        r"(([a-c]-){1,3},){0,12}x",
        r"(a,b?){5,16}",
        r"((a|b c),){12}",
    ],
)
def test_masks_along_a_text(pattern: str) -> None:
    rng = random.Random(pattern)
    for source, cache in ((f"root ::= '<' /{pattern}/ '>'", 1 << 24), (f"root ::= /{pattern}/", 120_000)):
        compiled = sm.Compiler(VOCABULARY, cache_bytes=cache).compile(
            sm.Grammar.from_ebnf(source.replace("'", '"'))
        )
        matcher = compiled.matcher()
        mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
        text = bytearray()
        while len(text) < 70:
            matcher.fill_next_token_bitmask(mask)
            allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
            choices = [int(t) for t in allowed if t < 256]
            if not choices:
                break
            byte = rng.choice(choices)
            assert matcher.accept_token(byte)
            text.append(byte)
        compare_along(compiled, bytes(text), 5)


@pytest.mark.parametrize("limit", [{}, {"maxLength": 90}, {"maxLength": 25}])
def test_counted_words_in_strings(limit: dict[str, int]) -> None:
    item = {"type": "string", "pattern": r"^(?:\S+\s+){0,19}\S+$", **limit}
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_json_schema({"type": "array", "items": item}))
    compare_along(compiled, b'["' + b"a bc " * (9 if limit != {"maxLength": 25} else 4) + b'c", "x"]', 4)


def test_returns_that_keys_forbid() -> None:
    """What keeps a token alive may be a return alone, which another key of that text forbids."""
    schema = {"type": "object", "propertyNames": {"pattern": "^(?:a,){0,14}b$"}, "additionalProperties": True}
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_json_schema(schema))
    compare_along(compiled, b'{"a,b": 1, "a,a,a,a,b": 1, "a,a,a,b": {"b": 1}}', 2)


def test_counts_share_walks() -> None:
    compiled = sm.Compiler(VOCABULARY).compile(sm.Grammar.from_ebnf(r'root ::= "<" /(\S+\s+){0,60}\S+/'))
    matcher = compiled.matcher()
    mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
    visited = []
    assert matcher.accept_string(b"<a")
    for _ in range(12):
        before = compiled.stats()["visited_nodes"]
        matcher.fill_next_token_bitmask(mask)
        visited.append(compiled.stats()["visited_nodes"] - before)
        assert matcher.accept_string(b"a a")
    assert visited[0] > 150
    assert max(visited[3:]) < visited[0] // 4
