"""A seeded slice of the generation campaign (``lab/benchmarks/generation_campaign.py`` is the large one)."""

from __future__ import annotations

import random
import statistics
from functools import cache

import pytest
from campaign.mutants import byte_mutants
from campaign.sampler import Sampler
from campaign.steering import STEERING
from campaign.vocabularies import sample_vocabulary
from judges import JUDGES
from judges.samples import load_samples
from support.campaign import mostly_campaign

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

COUNT = 25
MUTANTS = 400
EXACT = ("json", "csv")  # nothing is left out of these languages


@cache
def vocabulary() -> Vocabulary:
    return sample_vocabulary()


@pytest.mark.parametrize("name", mostly_campaign(sorted(JUDGES), 4))
def test_generated_texts_are_in_the_language(name: str) -> None:
    sampler = Sampler(Compiler(vocabulary()).compile(Grammar.bundled(name)), vocabulary(), STEERING[name])
    sizes = []
    for number in range(COUNT):
        rng = random.Random(f"{name} {number}")
        text = sampler.sample(rng, rng.randrange(200, 400))
        assert text is not None, f"generation {number} does not end"
        verdict = JUDGES[name](text)
        assert verdict.accepted, f"generation {number}: {verdict.note}: {text!r}"
        sizes.append(len(text))
    assert statistics.median(sizes) >= 200


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_what_the_grammar_accepts_of_mutants_is_in_the_language(name: str) -> None:
    compiled = Compiler(vocabulary()).compile(Grammar.bundled(name))
    texts = [sample.data for sample in load_samples(name) if sample.accepted]
    for mutant in byte_mutants(texts, MUTANTS, random.Random(name)):
        matcher = compiled.matcher()
        accepted = bool(matcher.accept_string(mutant) and matcher.is_accepting())
        verdict = JUDGES[name](mutant)
        assert verdict.accepted or not accepted, f"{verdict.note}: {mutant!r}"
        assert name not in EXACT or accepted == verdict.accepted, mutant
