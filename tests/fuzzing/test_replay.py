"""The inputs that fuzzing kept and what it once found run without a fault; the harness notices faults."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stackmask as sm

MOST_INPUTS = 40  # of the corpus of a target; a campaign runs them all
NAMES = (
    *("ebnf", "json_schema", "regex", "sql_schema", "structural_tag", "tools", "compose", "budget"),
    *("matcher", "vocabulary", "buffers"),
)


def test_these_are_the_targets() -> None:
    from fuzz import targets

    assert targets.NAMES == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_was_found_is_fixed(name: str) -> None:
    from fuzz import company, inputs, targets

    target = targets.load(name)
    for found in inputs.found_of(name):
        error = company.fault_of(target.run, found.data, found.after)
        if error is not None:
            raise error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_corpus_runs(name: str) -> None:
    from fuzz import company, inputs, targets

    target = targets.load(name)
    corpus = inputs.corpus_of(name)
    assert corpus
    for data in random.Random(name).sample(corpus, min(MOST_INPUTS, len(corpus))):
        company.run_input(target.run, data)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_mutations_are_the_same_each_time(name: str) -> None:
    from fuzz import targets
    from fuzz.unguided import mutated_bytes

    target = targets.load(name)
    seeds = list(target.seeds())
    assert len(seeds) >= 30 and seeds == list(target.seeds())
    mutate = getattr(target, "mutate", mutated_bytes)
    source = random.Random(1)
    mutated = [mutate(data, source) for data in seeds]
    assert sum(one != other for one, other in zip(mutated, seeds, strict=True)) > len(seeds) // 2


def test_a_file_gives_back_all_bytes(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzz import inputs

    monkeypatch.setattr(inputs, "FOUND", tmp_path / "found")
    monkeypatch.setattr(inputs, "CORPUS", tmp_path / "corpus")
    data = bytes(range(256))
    found = inputs.Found(data, "Fault: é", (b"", data))
    inputs.add_found("ebnf", found)
    inputs.add_found("ebnf", inputs.Found(data, "again"))
    assert inputs.found_of("ebnf") == [found]
    inputs.write_corpus("ebnf", [data, b""])
    assert inputs.corpus_of("ebnf") == [data, b""]


class WrongMatcher:
    """A matcher whose masks are those of another one with some bit flipped."""

    def __init__(self, matcher: Any, token: int) -> None:
        self.matcher = matcher
        self.token = token

    def __getattr__(self, name: str) -> Any:
        return getattr(self.matcher, name)

    def fill_next_token_bitmask(self, mask: Any, row: int = 0) -> bool:
        needed = self.matcher.fill_next_token_bitmask(mask, row)
        mask[row].view(np.uint32)[self.token >> 5] ^= np.uint32(1 << (self.token & 31))
        return bool(needed)


def test_a_wrong_bit_is_noticed() -> None:
    from fuzz import checks

    vocabulary = checks.make_vocabulary()
    grammar = sm.Grammar.from_regex("[ab]{1,9}c")
    matcher = sm.Compiler(vocabulary).compile(grammar).matcher()
    everything = SimpleNamespace(
        sample=lambda ids, count: list(ids), choice=lambda items: items[0], random=lambda: 1.0
    )
    checks.Walk(matcher.fork(), vocabulary, everything).run(3)
    for token in (ord("a"), ord("z"), checks.STOP):
        walk = checks.Walk(WrongMatcher(matcher.fork(), token), vocabulary, everything)
        with pytest.raises(checks.Fault):
            walk.run(1)


def test_decisions_end_with_the_input() -> None:
    from fuzz.choices import Choices

    choices = Choices(bytes([7, 1, 2, 9]))
    assert choices.below(4) == 3 and choices.below(1000) == 258
    assert choices.take(5) == bytes([9]) and choices.ended and choices.byte() == 0
