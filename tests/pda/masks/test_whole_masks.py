"""Whole masks that are remembered, as rows or with words patched, equal those of every token tried by itself."""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import numpy as np
import pytest
import torch

import stackmask as sm
from stackmask.runtime.matching.row_references import MaskRows, copy_row

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"enum": [f"{a}{b}{c}" for a in "abc" for b in "xyz" for c in ("", "1", "22", "cab")]},
        "size": {"type": "number", "maximum": 120},
        "name": {"type": "string", "maxLength": 9},
    },
    "additionalProperties": {"type": "string", "pattern": "^[a-cx]+$"},
}
GRAMMARS = {
    "json": sm.Grammar.bundled("json"),
    "xml": sm.Grammar.bundled("xml"),  # tokens that are run on the real configuration
    "schema": sm.Grammar.from_json_schema(SCHEMA),
    "words": sm.Grammar.from_ebnf('root ::= word (" " word)*\nword ::= [a-z]{1,20} !>>[a-z] | [0-9]+ "px"'),
    "ambiguous": sm.Grammar.from_ebnf('root ::= root root | "a" | "b" root "c"'),
    "many": sm.Grammar.from_ebnf("root ::= " + " | ".join(f'"{i:03}" [a-c]' for i in range(0, 1000, 3))),
}


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    """Bytes, numbers of three digits, pieces of what the grammars write; an odd number of words in a mask."""
    rng = random.Random(11)
    pieces = {bytes([b]) for b in range(256)} | {f"{i:03}".encode() for i in range(1000)}
    while len(pieces) < 3000:
        alphabet = rng.choice(["abcxyz ", "012", '{}[]",: ', "</>ab", "abc", '"abcx'])
        pieces.add("".join(rng.choices(alphabet, k=rng.randint(2, 7))).encode())
    return sm.Vocabulary([*sorted(pieces), None, None], stop_ids=[3000, 3001])


def tried(matcher: sm.Matcher, size: int) -> np.ndarray[Any, Any]:
    """Return the mask that accepting every token by itself gives."""
    allowed = np.zeros(-(-size // 32) * 32, dtype=np.uint8)
    for token in range(size):
        if matcher.accept_token(token):
            allowed[token] = 1
            matcher.rollback()
    return np.packbits(allowed, bitorder="little").view(np.int32)


def unfolded(named: MaskRows, matcher: sm.Matcher, width: int) -> np.ndarray[Any, Any]:
    if named.words is not None:
        return np.frombuffer(named.words, dtype=np.int32)
    words = np.zeros(width, dtype=np.int32)
    for row in named.rows:
        target = np.empty_like(words)
        assert copy_row(matcher, named.epoch, row, target.ctypes.data)
        words |= target
    for token in named.tokens:
        words[token >> 5] ^= np.uint32(1 << (token & 31)).astype(np.int32)
    return words


@pytest.mark.parametrize("cache_bytes", [1 << 29, 3 << 17, 1 << 12])
@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_those_of_every_token(vocabulary: sm.Vocabulary, name: str, cache_bytes: int) -> None:
    size = vocabulary.size
    compiler = sm.Compiler(vocabulary, cache_bytes=cache_bytes)
    rng = random.Random(name)
    seen: dict[bytes, np.ndarray[Any, Any]] = {}
    mask = sm.allocate_token_bitmask(4, size)
    row = mask[1]
    for _ in range(3):
        # families of grammars that were dropped are found again
        matcher = compiler.compile(GRAMMARS[name]).matcher()
        text = b""
        for _ in range(5):
            wanted = seen.get(text)
            if wanted is None:
                wanted = seen[text] = tried(matcher, size)
            for times in range(3):
                mask[...] = 0x5A5A5A5A
                assert matcher.fill_next_token_bitmask(mask, 1)
                assert np.array_equal(row, wanted), (text, times)
            fork = matcher.fork()
            mask[...] = 0x5A5A5A5A
            assert sm.fill_next_token_bitmask([matcher, None, fork, matcher], mask)
            assert np.array_equal(mask[0], wanted) and np.array_equal(mask[2], wanted)
            assert np.array_equal(mask[3], wanted) and (mask[1] == -1).all()
            for limits in ((4, 12), (1, 0), (0, 40), (2, 300)):
                named = matcher.mask_rows(*limits)
                assert np.array_equal(unfolded(named, matcher, mask.shape[1]), wanted)
            allowed = np.flatnonzero(np.unpackbits(wanted.view(np.uint8), bitorder="little"))
            token = int(rng.choice(allowed))
            assert matcher.accept_token(token)
            if matcher.is_terminated():
                matcher.rollback()
                break
            text += vocabulary.token_bytes[token] or b""


def test_equal_masks_are_one_row(vocabulary: sm.Vocabulary) -> None:
    # each tag is another place, whose mask was run on it; what may come in their texts is equal
    compiled = sm.Compiler(vocabulary).compile(GRAMMARS["xml"])
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    rows = set()
    for a in "abcxyz":
        for b in "abcxyz":
            matcher = compiled.matcher()
            assert matcher.accept_string(f"<{a}{b}>text")
            for _ in range(3):
                matcher.fill_next_token_bitmask(mask)
            named = matcher.mask_rows(4, 300)
            rows.add(named.rows)
    assert len(rows) <= 2


def test_families_of_dropped_grammars_are_found_again(vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary)
    mask = sm.allocate_token_bitmask(1, vocabulary.size)
    token = vocabulary.token_bytes.index(b'{"')
    hits = []
    gone = []
    for _ in range(4):
        compiled = compiler.compile(sm.Grammar.from_json_schema(SCHEMA))
        matcher = compiled.matcher()
        matcher.fill_next_token_bitmask(mask)
        assert matcher.accept_token(token)
        matcher.fill_next_token_bitmask(mask)
        hits.append(compiled.stats()["hits"])
        gone.append(weakref.ref(compiled))
        del compiled, matcher
    gc.collect()
    assert all(ref() is None for ref in gone)
    # the first visit makes a mask, the second remembers it
    assert hits[3] - hits[2] == 2


def test_few_families_are_kept_where_the_cache_is_small(vocabulary: sm.Vocabulary) -> None:
    compiler = sm.Compiler(vocabulary, cache_bytes=1 << 16)
    for number in range(64):
        grammar = sm.Grammar.from_ebnf(f'root ::= "{number}" [a-z]* "."')
        matcher = compiler.compile(grammar).matcher()
        assert matcher.accept_string(f"{number}abcd.")
    assert len(compiler._lanes.open().families) <= 20


@pytest.mark.parametrize("like", ["numpy", "torch"])
def test_masks_of_other_kinds_are_refused(vocabulary: sm.Vocabulary, like: str) -> None:
    matcher = sm.Compiler(vocabulary).compile(GRAMMARS["json"]).matcher()
    width = -(-vocabulary.size // 32)
    wrong: list[Any]
    if like == "numpy":
        good: Any = np.zeros((2, width), dtype=np.int32)
        narrow = np.zeros((2, width), dtype=np.int16)
        wrong = [
            narrow,
            good.astype(np.float32),
            good.astype(">i4"),
            good[:, ::2],
            good[None],
            good.view("u4"),
        ]
        locked = good.copy()
        locked.flags.writeable = False
        wrong.append(locked)
    else:
        good = torch.zeros(2, width, dtype=torch.int32)
        wrong = [good.short(), good.float(), good.t(), good[None], good.to("meta")]
    for mask in wrong:
        with pytest.raises(sm.MatcherError, match="bitmask must"):
            matcher.fill_next_token_bitmask(mask)
    for number in (2, -1, 1 << 70):
        with pytest.raises(sm.MatcherError, match=f"row {number} is out of range: the bitmask has 2 rows"):
            matcher.fill_next_token_bitmask(good, number)
    assert matcher.fill_next_token_bitmask(good, np.int64(1))
    assert matcher.fill_next_token_bitmask(good[1])
    assert np.array_equal(np.asarray(good[1]), tried(matcher, vocabulary.size))
