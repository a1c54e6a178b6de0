"""Switches of layers hold inside of their block, and only there."""

from __future__ import annotations

import pytest

import stackmask as sm
from stackmask.pda.masks import layers

WORDS: list[bytes | None] = [bytes([b]) for b in range(256)] + [b"ab", b"abc", b"ba", b"cab"] + [None]

SCHEMA = {"properties": {"ab": {}, "cab": {}}, "additionalProperties": False}


def spelled() -> int:
    """Return how many masks of literals a new compiler spells for the first mask: none without that layer."""
    vocabulary = sm.Vocabulary(WORDS, stop_ids=[len(WORDS) - 1])
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_json_schema(SCHEMA))
    compiled.matcher().fill_next_token_bitmask(sm.allocate_token_bitmask(1, vocabulary.size))
    return int(compiled.stats()["word_walks"])


def test_blocks_may_be_inside_of_each_other() -> None:
    assert spelled() > 0
    with layers.without("literals", "runs"):
        assert spelled() == 0
        with layers.without("literals"):
            assert spelled() == 0
        assert spelled() == 0
    assert spelled() > 0


def test_an_error_switches_back() -> None:
    with pytest.raises(KeyError), layers.without("literals"):
        raise KeyError
    with (
        pytest.raises(ValueError, match="there is no layer 'nonsense'; the layers are walks, "),
        layers.without("literals", "nonsense"),
    ):
        pass
    assert spelled() > 0
