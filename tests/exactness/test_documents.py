"""Invariant 1 where it counts: bundled grammars, real tokenizers, real documents, sampled positions."""

from __future__ import annotations

import random

import pytest
from support.datapack import needs_datapack

from exactness.documents import GRAMMARS, LONGEST, SHORTEST, Checker, documents

pytestmark = needs_datapack


@pytest.mark.campaign
@pytest.mark.parametrize("tokenizer", ["llama3-128k", "mistral-v1-spm-32k"])
def test_sampled_positions(tokenizer: str) -> None:
    rng = random.Random(tokenizer)
    positions = 0
    for grammar in GRAMMARS:
        checker = Checker(grammar, tokenizer)
        fitting = [d for d in documents(grammar) if SHORTEST <= len(d) <= LONGEST / 3]
        looked_at, _ = checker.check(rng.choice(fitting), rng, positions=3, sample=250, cap=100)
        positions += looked_at
    assert positions >= 20
