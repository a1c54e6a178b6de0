"""Random texts of a grammar of SQL: words by chance, and masks that say what may be accepted."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

import stackmask as sm

COUNT = 60  # walks, and the most tokens of each
SHORT = 12  # tokens after which a walk takes what ends it


def random_queries(grammar: sm.Grammar, words: str, tables: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the texts that end, of 60 walks over ``words``, which ``|`` separates, and the names of the tables.

    Raises: AssertionError at a dead end, and where a bit of a mask is wrong.
    """
    names = [name for table, columns in tables.items() for name in (table, *columns) if name.isidentifier()]
    texts = [word.encode() for word in dict.fromkeys([*words.split("|"), *names]) if len(word) > 1]
    tokens: list[bytes | None] = [*(bytes([b]) for b in range(256)), *texts, None]
    stop = len(tokens) - 1
    compiled = sm.Compiler(sm.Vocabulary(tokens, stop_ids=[stop])).compile(grammar)
    mask = sm.allocate_token_bitmask(1, len(tokens))
    choice = random.Random(5)
    for _ in range(COUNT):
        matcher, text = compiled.matcher(), b""
        for n in range(COUNT):
            order = choice.sample(range(256, stop + 1), stop - 255)
            if n >= SHORT:
                order = [stop, 256 + texts.index(b") ") if b") " in texts else ord(")"), *order]
            order += choice.sample(range(256), 256)
            token = next((t for t in order if matcher.fork().accept_token(t)), None)
            assert token is not None, text
            if n % 10 == 0:
                matcher.fill_next_token_bitmask(mask)
                bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
                for other in [token, *choice.sample(range(len(tokens)), 10)]:
                    assert bool(bits[other]) == matcher.fork().accept_token(other), (text, tokens[other])
            if token == stop:
                yield text.decode()
                break
            matcher.accept_token(token)
            text += tokens[token] or b""


def check_masks_along(compiled: sm.CompiledGrammar, text: bytes) -> None:
    """Check along a text that masks over single bytes allow those that can be accepted."""
    size = compiled.vocabulary.size
    matcher, mask = compiled.matcher(), sm.allocate_token_bitmask(1, size)
    for byte in text:
        matcher.fill_next_token_bitmask(mask)
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:size]
        assert bits.astype(bool).tolist() == [matcher.fork().accept_token(t) for t in range(size)]
        assert matcher.accept_token(byte)
