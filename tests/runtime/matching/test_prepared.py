"""What a compiler of a large vocabulary makes before the first grammar comes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import stackmask as sm
from stackmask.runtime.matching import compiler as module

LETTERS = b'abcdefghijklmnopqrstuvwxyz0123456789{}[]":, '
TEXTS = (b"", b'{"a', b'{"a": ', b"[1, ", b'{"a": {"a": "', b"12")


@pytest.fixture(scope="module")
def vocabulary() -> sm.Vocabulary:
    words = map(bytes, itertools.product(LETTERS, repeat=3))
    tokens = [bytes([byte]) for byte in range(256)] + list(itertools.islice(words, 60_000))
    return sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)])


def masks(compiler: sm.Compiler, grammar: sm.Grammar) -> list[np.ndarray]:
    """Return the masks of some places."""
    compiled = compiler.compile(grammar)
    found = []
    for text in TEXTS:
        matcher = compiled.matcher()
        assert matcher.accept_string(text)
        mask = sm.allocate_token_bitmask(1, compiler.vocabulary.size)
        matcher.fill_next_token_bitmask(mask)
        found.append(np.array(mask))
    return found


@pytest.mark.parametrize("grammar", [sm.Grammar.json(), sm.Grammar.bundled("json")])
def test_masks_are_those_of_a_compiler_that_prepares_nothing(
    vocabulary: sm.Vocabulary, monkeypatch: pytest.MonkeyPatch, grammar: sm.Grammar
) -> None:
    prepared = sm.Compiler(vocabulary)
    assert prepared.stats()["stores"][0]["families"] == 1
    monkeypatch.setattr(module, "WORTH_PREPARING", 1 << 30)
    plain = sm.Compiler(vocabulary)
    assert plain.stats()["stores"][0]["families"] == 0
    for mine, theirs in zip(masks(prepared, grammar), masks(plain, grammar), strict=True):
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
def test_nothing_is_taken_from_what_requests_may_have(vocabulary: sm.Vocabulary, options: dict[str, object]) -> None:
    compiler = sm.Compiler(vocabulary, **options)  # type: ignore[arg-type]
    assert compiler.stats()["stores"][0]["families"] == 0


def test_a_vocabulary_that_cannot_spell_json_is_good_for_others() -> None:
    tokens = [bytes([byte]) for byte in b"abc"] + [b"%d" % number for number in range(60_000)]
    compiler = sm.Compiler(sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)]))
    assert compiler.compile(sm.Grammar.from_ebnf('root ::= "abc"')).matcher().accept_string("abc")
