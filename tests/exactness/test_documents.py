"""Invariant 1 where it counts: bundled grammars, real tokenizers, real documents, sampled positions."""

from __future__ import annotations

import random

import pytest
from support.campaign import SCALE
from support.datapack import needs_datapack

from exactness.documents import GRAMMARS, LONGEST, SHORTEST, TOKENIZERS, Checker, documents

pytestmark = needs_datapack


@pytest.mark.campaign
@pytest.mark.parametrize("tokenizer", TOKENIZERS if SCALE > 1 else TOKENIZERS[:2])
def test_sampled_positions(tokenizer: str) -> None:
    rng = random.Random(tokenizer)
    longest, sample, cap = (LONGEST, 2000, 1000) if SCALE > 1 else (LONGEST / 3, 250, 100)
    positions = 0
    for grammar in GRAMMARS:
        checker = Checker(grammar, tokenizer)
        fitting = [d for d in documents(grammar) if SHORTEST <= len(d) <= longest]
        looked_at, _ = checker.check(rng.choice(fitting), rng, positions=3, sample=sample, cap=cap)
        positions += looked_at
    assert positions >= 20
