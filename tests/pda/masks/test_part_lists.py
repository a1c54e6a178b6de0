"""Masks put together from lists of parts: a sparse mask that is in most lists gets a row, and no bit changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stackmask as sm

NAMES = [f"n{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    """40,000 tokens, so that 150 are few; 140 of them end a name and begin its value."""
    pieces = [bytes([b]) for b in range(256)]
    pieces += [f'":{i}'.encode() for i in range(100, 240)]
    pieces += [f"#{i}".encode() for i in range(40_000 - len(pieces) - 1)]
    return sm.Vocabulary([*pieces, None], stop_ids=[len(pieces)])


def tried(matcher: sm.Matcher, size: int) -> np.ndarray[Any, Any]:
    """Return the mask that accepting every token by itself gives."""
    allowed = np.zeros(-(-size // 32) * 32, dtype=np.uint8)
    for token in range(size):
        if matcher.accept_token(token):
            allowed[token] = 1
            matcher.rollback()
    return np.packbits(allowed, bitorder="little").view(np.int32)


@pytest.mark.parametrize("cache_bytes", [1 << 29, 1 << 18])
def test_rows_of_sparse_masks_change_no_bit(vocabulary: sm.Vocabulary, cache_bytes: int) -> None:
    # each name is the beginning of others, so each has a list of its own: it may end here, or go on
    properties = {name: {"type": "integer"} for name in NAMES}
    properties |= {f"{name}{i}": {"type": "integer"} for i, name in enumerate(NAMES)}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    compiled = sm.Compiler(vocabulary, cache_bytes=cache_bytes).compile(sm.Grammar.from_json_schema(schema))
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    matcher = compiled.matcher()
    assert matcher.accept_string('{"')
    wanted = {}
    for times in range(3):
        for i, name in enumerate(NAMES):
            fork = matcher.fork()
            assert fork.accept_string(name)
            mask[...] = 0x5A5A5A5A
            fork.fill_next_token_bitmask(mask)
            if i % 9 == 0:
                if not times:
                    wanted[name] = tried(fork, vocabulary.size)
                    assert int.from_bytes(wanted[name].tobytes(), "little").bit_count() > 128
                assert np.array_equal(mask[0], wanted[name]), (name, times)
