"""What a compiler of a large vocabulary makes before the first grammar comes."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import stackmask as sm
from stackmask.runtime.matching import compiler as module

LETTERS = b'abcdefghijklmnopqrstuvwxyz0123456789{}[]":, '
TEXTS = (b"", b'{"a', b'{"a": ', b"[1, ", b'{"a": {"a": "', b"12")
SEED = 24
SHARED = ("walks", "masks", "terms")  # what all grammars of a store have made


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    words = list(map(bytes, itertools.product(LETTERS, repeat=3)))
    random.Random(SEED).shuffle(words)
    tokens = [*(bytes([byte]) for byte in range(256)), *words[:30_000]]
    return sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)])


def families(compiler: sm.Compiler) -> Any:
    return compiler.stats()["stores"][0]["families"]


def first_mask(compiled: sm.CompiledGrammar, text: bytes = b"") -> np.ndarray:
    matcher = compiled.matcher()
    assert matcher.accept_string(text)
    mask = sm.allocate_token_bitmask(1, compiled.vocabulary.size)
    matcher.fill_next_token_bitmask(mask)
    return np.array(mask)


@pytest.mark.parametrize("kind", ["value", "object"])
def test_the_first_mask_of_json_is_there(vocabulary: sm.Vocabulary, kind: Any) -> None:
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.json(kind))
    before = compiled.stats()
    assert first_mask(compiled).any()
    after = compiled.stats()
    assert after["walks"] == before["walks"]
    if kind == "value":
        assert [after[name] for name in SHARED] == [before[name] for name in SHARED]


@pytest.mark.parametrize("grammar", [sm.Grammar.json(), sm.Grammar.bundled("json")])
def test_masks_are_those_of_a_compiler_that_prepares_nothing(
    vocabulary: sm.Vocabulary, monkeypatch: pytest.MonkeyPatch, grammar: sm.Grammar
) -> None:
    prepared = sm.Compiler(vocabulary)
    assert families(prepared) == 1
    monkeypatch.setattr(module, "WORTH_PREPARING", 1 << 30)
    plain = sm.Compiler(vocabulary)
    assert families(plain) == 0
    for text in TEXTS:
        mine, theirs = (first_mask(compiler.compile(grammar), text) for compiler in (prepared, plain))
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize(
    "options",
    [
        {"limits": sm.Limits(max_terms=1000)},
        {"limits": sm.Limits(max_configurations=4)},
        {"limits": sm.Limits(max_semantic_states=10)},
        {"cache_bytes": 1 << 20},
    ],
)
def test_nothing_is_taken_from_what_requests_may_have(
    vocabulary: sm.Vocabulary, options: dict[str, Any]
) -> None:
    assert families(sm.Compiler(vocabulary, **options)) == 0


@pytest.mark.parametrize("limits", [sm.Limits(max_work=100), sm.Limits(max_memory=100)])
def test_a_limit_of_requests_is_met_by_the_request(vocabulary: sm.Vocabulary, limits: sm.Limits) -> None:
    compiler = sm.Compiler(vocabulary, limits=limits)
    with pytest.raises(sm.BudgetError):
        first_mask(compiler.compile(sm.Grammar.json()))


def test_a_vocabulary_that_cannot_spell_json_is_good_for_others() -> None:
    tokens = [*(bytes([byte]) for byte in b"abc"), *(b"%d" % number for number in range(30_000))]
    compiler = sm.Compiler(sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)]))
    assert families(compiler) == 0
    with pytest.raises(sm.VocabularyError):
        compiler.compile(sm.Grammar.json())
    assert compiler.compile(sm.Grammar.from_ebnf('root ::= "abc"')).matcher().accept_string("abc")
