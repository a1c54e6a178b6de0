"""The trie's arrays, against sets of prefixes."""

from __future__ import annotations

import gc
import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmask.pda.errors import VocabularyError
from stackmask.pda.vocabulary.token_bytes import pack
from stackmask.pda.vocabulary.token_trie import TokenOrder, Trie


class Arrays(NamedTuple):
    end: list[int]
    parent: list[int]
    token_first: list[int]
    tokens: list[int]
    depth: list[int]
    byte: list[int]


def arrays(trie: Trie) -> Arrays:
    """Read a block as it is laid out: a header of four words, then the arrays."""
    n, t, at = len(trie), trie.token_count, 16
    parts = []
    for dtype, size in ((np.int32, n), (np.int32, n), (np.int32, n + 1), (np.int32, t), (np.int32, n)):
        parts.append(np.frombuffer(trie.block, dtype=dtype, count=size, offset=at).tolist())
        at += np.dtype(dtype).itemsize * size
    assert len(trie.block) == at + n
    return Arrays(*parts, list(trie.block[at:]))


def expected(tokens: list[bytes | None]) -> Arrays:
    """Lay out all prefixes in order, which is depth first."""
    texts = [token for token in tokens if token]
    prefixes = sorted({text[:k] for text in texts for k in range(len(text) + 1)} | {b""})
    at = {prefix: n for n, prefix in enumerate(prefixes)}
    spelled = [[i for i, token in enumerate(tokens) if token and token == prefix] for prefix in prefixes]
    return Arrays(
        end=[n + sum(other.startswith(prefix) for other in prefixes) for n, prefix in enumerate(prefixes)],
        parent=[at[prefix[:-1]] for prefix in prefixes],
        token_first=np.cumsum([0, *map(len, spelled)]).tolist(),
        tokens=[i for ids in spelled for i in ids],
        depth=[len(prefix) for prefix in prefixes],
        byte=[prefix[-1] if prefix else 0 for prefix in prefixes],
    )


FEW_BYTES = st.lists(st.sampled_from([0, 1, 0x61, 0xFF]), max_size=12).map(bytes)
TOKENS = st.lists(st.none() | FEW_BYTES | st.binary(max_size=3), max_size=30)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(TOKENS)
def test_it_holds_every_prefix_in_order(tokens: list[bytes | None]) -> None:
    texts = pack(tokens)
    trie = Trie(texts)
    assert arrays(trie) == expected(tokens)
    assert (len(trie), trie.nodes, trie.max_depth) == (len(expected(tokens).byte), len(trie), texts.longest)
    assert trie.nbytes == len(trie.block)
    again = Trie(texts, TokenOrder(texts, bytes(trie.order)))
    assert arrays(again) == arrays(trie) and again.max_depth == trie.max_depth


@pytest.mark.parametrize(
    "tokens",
    [
        [b"a" * 8, b"a" * 8 + b"\0", b"a" * 8, b"a" * 9],  # equal in the first eight bytes
        [b"a\0\0", b"a", b"a\0", b"a"],  # zeros at the end are bytes
        [b"\0" * 9, b"\0", b"", b"\0" * 8],
        [b"\xff" * 300, b"\xff" * 299 + b"\xfe"],
    ],
)
def test_order_beyond_the_sorting_key(tokens: list[bytes | None]) -> None:
    assert arrays(Trie(pack(tokens))) == expected(tokens)


def test_any_damage_to_an_order_is_found() -> None:
    texts = pack([b"ab", b"abc", None, b"b", b"ab", b"", b"ca", b"cb"])
    order = bytes(Trie(texts).order)
    for at in range(len(order)):
        for change in (1, 0x80, 0xFF):
            damaged = bytearray(order)
            damaged[at] ^= change
            with pytest.raises(VocabularyError, match="not the trie of this vocabulary"):
                TokenOrder(texts, bytes(damaged))
    for size in range(len(order)):
        with pytest.raises(VocabularyError, match="not the trie"):
            TokenOrder(texts, order[:size])


def test_no_other_order_of_the_tokens_is_taken() -> None:
    texts = pack([b"b", b"a", b"ab", b"a", b"\xff", b"a\0"])
    right = tuple(memoryview(Trie(texts).order).cast("i"))
    for order in itertools.permutations(right):
        data = np.array(order, np.int32).tobytes()
        if order == right:
            assert arrays(Trie(texts, TokenOrder(texts, data))) == arrays(Trie(texts))
        else:
            with pytest.raises(VocabularyError, match="not the trie"):
                TokenOrder(texts, data)
    with pytest.raises(VocabularyError, match="not the trie"):
        TokenOrder(texts, np.array([*right, right[-1]], np.int32).tobytes())
    with pytest.raises(VocabularyError, match="not the trie"):
        TokenOrder(texts, np.array([*right[:-1], right[-2]], np.int32).tobytes())


@pytest.mark.campaign
@settings(deadline=None, derandomize=True, max_examples=300)
@given(TOKENS, TOKENS)
def test_the_order_of_another_vocabulary_gives_no_wrong_trie(
    tokens: list[bytes | None], others: list[bytes | None]
) -> None:
    texts = pack(tokens)
    foreign = bytes(Trie(pack(others)).order)
    if expected(tokens).tokens == expected(others).tokens:
        assert arrays(Trie(texts, TokenOrder(texts, foreign))) == expected(tokens)
    else:
        with pytest.raises(VocabularyError, match="not the trie"):
            TokenOrder(texts, foreign)


def test_the_order_need_not_be_aligned_or_outlive_the_trie() -> None:
    texts = pack([b"ab", b"b"])
    order = bytes(Trie(texts).order)
    trie = Trie(texts, TokenOrder(texts, memoryview(b"?" + order)[1:]))
    gc.collect()
    assert bytes(trie.order) == order
    with pytest.raises(VocabularyError, match="not the order of these tokens"):
        Trie(pack([b"ab", b"b"]), TokenOrder(texts))


def test_a_token_may_be_long() -> None:
    texts = pack([b"x" * 100_000, b"x" * 70_000])
    trie = Trie(texts)
    assert (len(trie), trie.max_depth, arrays(trie).tokens) == (100_001, 100_000, [1, 0])
    assert arrays(trie).depth[-1] == 100_000
    assert len(Trie(texts, TokenOrder(texts, trie.order))) == len(trie)
