"""The compact sequence of token bytes, against a plain list."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Sequence
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import TokenBytes, TokenBytesBuilder, pack

Tokens: TypeAlias = list[bytes | None]
TOKENS = st.lists(st.none() | st.binary(max_size=4), max_size=70)


@settings(deadline=None, derandomize=True)
@given(TOKENS)
def test_it_is_the_list_it_was_made_of(tokens: Tokens) -> None:
    packed = pack(tokens)
    assert list(packed) == tokens == [packed[i] for i in range(len(packed))]
    assert packed[1:-2:3] == tokens[1:-2:3]
    if tokens:
        assert packed[-1] == tokens[-1] and packed[-len(tokens)] == tokens[0]
    for i in (len(tokens), -len(tokens) - 1):
        with pytest.raises(IndexError):
            packed[i]
    assert isinstance(packed, Sequence) and (b"a" in packed) == (b"a" in tokens)
    for token in (*tokens, b"a", None):
        assert packed.count(token) == tokens.count(token)
        if token in tokens:
            assert packed.index(token) == tokens.index(token)
        else:
            with pytest.raises(ValueError, match="is not a token"):
                packed.index(token)
    assert packed.present == sum(token is not None for token in tokens)
    assert packed.spelled == sum(bool(token) for token in tokens)
    assert packed.longest == max((len(token or b"") for token in tokens), default=0)
    assert packed.single_bytes() == sum({1 << token[0] for token in tokens if token and len(token) == 1})
    assert packed.nbytes == len(packed.block)
    for again in (TokenBytes(packed.block, len(tokens)), pickle.loads(pickle.dumps(packed))):
        assert list(again) == tokens


@settings(deadline=None, derandomize=True)
@given(TOKENS, st.dictionaries(st.integers(0, 80), st.none() | st.binary(max_size=4), max_size=8))
def test_overlay_replaces_and_extends(tokens: Tokens, changes: dict[int, bytes | None]) -> None:
    expected = list(tokens)
    expected.extend([None] * (1 + max(changes, default=-1) - len(expected)))
    for i, text in changes.items():
        expected[i] = text
    packed = pack(tokens)
    changed = packed.overlay(changes)
    assert list(changed) == expected and list(packed) == tokens
    assert (changed is packed) == (expected == tokens)
    assert changed.block == pack(expected).block


def stripped(tokens: Tokens) -> Tokens:
    end = len(tokens)
    while end and tokens[end - 1] is None:
        end -= 1
    return tokens[:end]


SMALL = st.lists(st.sampled_from([None, b"", b"a", b"ab"]), max_size=4)


@settings(deadline=None, derandomize=True, max_examples=400)
@given(SMALL, SMALL)
def test_same_texts_ignores_ids_at_the_end_without_text(one: Tokens, other: Tokens) -> None:
    assert pack(one).same_texts(pack(other)) == (stripped(one) == stripped(other))


def test_parts_are_copied() -> None:
    source = pack([b"a", None, b"", b"bcd", b"e"])
    builder = TokenBytesBuilder()
    builder.extend([b"x"])
    builder.copy_from(source, 1, 4)
    builder.copy_from(source, 3, 99)
    builder.copy_from(source, 4, 2)
    assert len(builder) == 6
    assert list(builder.finish()) == [b"x", None, b"", b"bcd", b"bcd", b"e"]


def test_every_single_byte() -> None:
    assert pack([bytes([b]) for b in range(256)]).single_bytes() == (1 << 256) - 1


@pytest.mark.parametrize("bad", ["a", 3, bytearray(b"a"), memoryview(b"a")])
def test_only_bytes_are_tokens(bad: object) -> None:
    with pytest.raises(TypeError, match="not bytes"):
        pack([b"a", bad])  # type: ignore[list-item]


def block(starts: list[int], absent: int, blob: bytes) -> bytes:
    return struct.pack(f"={len(starts)}II", *starts, absent) + blob


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        block([0, 1], 0, b"a"),  # too few offsets
        block([0, 1, 2], 0, b"a"),  # too few bytes
        block([0, 1, 1], 0, b"ab"),  # too many
        block([1, 1, 2], 0, b"ab"),  # does not begin at 0
        block([0, 3, 2], 0, b"ab"),  # goes back
        block([0, 0xFFFFFFFF, 2], 0, b"ab"),
        block([0, 1, 2], 1, b"ab"),  # no text, but bytes
        block([0, 1, 2], 4, b"ab"),  # a flag that no id has
    ],
)
def test_a_broken_block_is_refused(broken: bytes) -> None:
    assert list(TokenBytes(block([0, 1, 1], 2, b"a"), 2)) == [b"a", None]
    with pytest.raises(VocabularyError, match="not a table of 2 tokens"):
        TokenBytes(broken, 2)


@pytest.mark.parametrize("count", [-1, 1 << 27, (1 << 63) - 1])
def test_an_impossible_count_is_refused(count: int) -> None:
    with pytest.raises(VocabularyError, match="not a table"):
        TokenBytes(block([0, 1, 1], 2, b"a"), count)
