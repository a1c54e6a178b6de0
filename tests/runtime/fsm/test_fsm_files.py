"""Indexes on disk: what comes back is equal, and nothing in a file is taken on trust."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import numpy as np
import pytest
from support.both_engines import walk_all

import stackmask as sm
from stackmask.runtime.fsm.dfa import Dfa
from stackmask.runtime.fsm.index import TokenIndex
from stackmask.runtime.vocabulary.container import PREAMBLE

TOKENS: list[bytes | None] = [*(bytes([b]) for b in range(256)), b"ab", b"abab", b"cc", None, None]
VOCABULARY = sm.Vocabulary(TOKENS, stop_ids=[259], special_names={"<|t|>": 260}, size=300)
GRAMMARS = ['root ::= ("ab" | "cc")+ <|t|>? [x-z]{2,5}', "root ::= .*", 'root ::= "a"']


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grammar.fsm"


@pytest.mark.parametrize("text", GRAMMARS)
def test_what_is_loaded_is_what_was_saved(path: Path, text: str) -> None:
    grammar = sm.Grammar.from_ebnf(text)
    compiled = sm.fsm.compile(grammar, VOCABULARY)
    compiled.save(path)
    loaded = sm.fsm.load(path, VOCABULARY)
    assert loaded.stats() == compiled.stats() and loaded.grammar is None
    assert loaded.dfa.dump() == compiled.dfa.dump()
    for one, other in zip(compiled.index.arrays().values(), loaded.index.arrays().values(), strict=True):
        assert np.array_equal(one, other)
    walk_all(sm.Compiler(VOCABULARY).compile(grammar), loaded, random.Random(0))
    assert list(path.parent.iterdir()) == [path]


def test_another_vocabulary_is_refused(path: Path) -> None:
    sm.fsm.compile(sm.Grammar.from_regex("(ab)+"), VOCABULARY).save(path)
    others = [
        sm.Vocabulary([*TOKENS[:256], b"ab", b"abac", b"cc", None, None], stop_ids=[259], size=300),
        sm.Vocabulary(TOKENS, stop_ids=[259], size=301),
        sm.Vocabulary(TOKENS, stop_ids=[259], size=300, strip_first_space=True),
    ]
    for other in others:
        with pytest.raises(sm.fsm.FsmFileError, match="made for another vocabulary"):
            sm.fsm.load(path, other)
    # stop tokens are added when a mask is filled
    more = sm.Vocabulary(TOKENS, stop_ids=[259, 260], size=300)
    matcher = sm.fsm.load(path, more).matcher()
    assert matcher.accept_string("ab") and matcher.accept_token(260) and matcher.is_terminated()


def test_damaged_files_are_refused(path: Path) -> None:
    sm.fsm.compile(sm.Grammar.from_regex("[a-c]{1,4}"), VOCABULARY).save(path)
    good = path.read_bytes()
    for data, why in [
        (b"", "does not begin"),
        (good[:300] + bytes([good[300] ^ 1]) + good[301:], "damaged"),
        (good[:16] + b"\x09" + good[17:], "version 9, not 2$"),
        (good[:16] + b"\x01" + good[17:], "version 1, not 2, an older one"),
    ]:
        path.write_bytes(data)
        with pytest.raises(sm.fsm.FsmFileError, match=why):
            sm.fsm.load(path, VOCABULARY)
    with pytest.raises(OSError):
        sm.fsm.load(path.parent / "none", VOCABULARY)


def test_a_file_with_a_good_checksum_cannot_lead_outside(path: Path) -> None:
    """Damage every byte behind the checksum in turn, and make the checksum right again."""
    sm.fsm.compile(sm.Grammar.from_ebnf('root ::= "ab"+ <|t|>?'), VOCABULARY).save(path)
    good = path.read_bytes()
    size = PREAMBLE.size
    rng = random.Random(1)
    refused = 0
    for at in range(size, len(good)):
        body = good[size:at] + bytes([good[at] ^ (1 << rng.randrange(8))]) + good[at + 1 :]
        head = PREAMBLE.unpack_from(good)
        path.write_bytes(PREAMBLE.pack(*head[:3], hashlib.sha256(body).digest()) + body)
        try:
            loaded = sm.fsm.load(path, VOCABULARY)
        except sm.fsm.FsmFileError:
            refused += 1
            continue
        matcher = loaded.matcher()
        mask = sm.allocate_token_bitmask(1, VOCABULARY.size)
        for state in range(loaded.dfa.states):
            loaded.index.allowed_tokens(state)
            for token in (97, 256, 260):
                assert -1 <= loaded.index.next_state(state, token) < loaded.dfa.states
        matcher.fill_next_token_bitmask(mask)
        matcher.accept_string("abab")
    assert refused > 200


def test_arrays_that_do_not_fit_are_refused() -> None:
    compiled = sm.fsm.compile(sm.Grammar.from_regex("[a-c]{1,4}|xyz"), VOCABULARY)
    arrays = compiled.dfa.arrays()
    for name in ("first", "low", "high", "target", "accepting"):
        with pytest.raises(sm.fsm.FsmFileError):
            Dfa({**arrays, name: arrays[name][:-1]})
    with pytest.raises(sm.fsm.FsmFileError):
        Dfa({**arrays, "target": arrays["target"] + 100})
    texts = VOCABULARY.token_bytes
    rows = compiled.index.arrays()
    for name in ("row_of", "count", "offset", "dense"):
        with pytest.raises(sm.fsm.FsmFileError):
            TokenIndex.from_arrays(compiled.dfa, texts, 300, [], {**rows, name: rows[name][:-1]})
    with pytest.raises(sm.fsm.FsmFileError):
        TokenIndex.from_arrays(compiled.dfa, texts, 300, [], {**rows, "offset": rows["offset"] + (1 << 30)})
    with pytest.raises(sm.fsm.FsmFileError):
        TokenIndex.from_arrays(compiled.dfa, texts, 300, [[5]], rows)
