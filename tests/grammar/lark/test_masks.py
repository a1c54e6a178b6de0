"""Every bit of the masks of Lark grammars is what the oracle says, along random texts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from exactness.walks import Case, check_case
from oracle.random_grammars import RandomVocabulary
from oracle.random_lark import RandomLark
from support.golden import read_cases

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import TokenTerminal, walk
from stackmask.grammar.source.diagnostics import GrammarError

FOLDER = Path(__file__).parent / "goldens"
GOLDENS = {case.title: case.grammar for path in sorted(FOLDER.glob("*.txt")) for case in read_cases(path)}
SEEDS = range(2, 18)
WORDS = 40  # tokens of several bytes


def case_of(text: str, seed: int) -> Case:
    """Return a Lark grammar with a vocabulary of bytes, special tokens and pieces of its texts."""
    grammar = Grammar.from_lark(text, None, on_unsupported="relax")
    rules = grammar.rules
    parts = [part for rule in rules.rules.values() for part in walk(rule.body)]
    names = {name for part in parts if isinstance(part, TokenTerminal) for name in part.names}
    samples = [] if names else grammar.sample(10, seed=seed, max_bytes=60)
    stream = "".join(samples).encode() or b"abc"
    rng = random.Random(seed)
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    for _ in range(WORDS):
        start = rng.randrange(len(stream))
        tokens.append(stream[start : start + rng.randint(2, 6)] + rng.choice((b"", b"", b"a", b" ", b"\xc3")))
    specials = {name: len(tokens) + number for number, name in enumerate(sorted(names))}
    tokens += [None] * (len(specials) + 2)
    stop = len(tokens) - 1
    return Case(rules, RandomVocabulary(tokens, [stop], specials, [*specials.values(), stop - 1]))


@pytest.mark.parametrize("title", GOLDENS)
def test_goldens(title: str) -> None:
    outcome = check_case(case_of(GOLDENS[title], 0), title)
    assert outcome.kind == "judged"
    assert outcome.masks >= 2


@pytest.mark.campaign
def test_random_grammars() -> None:
    masks = 0
    for seed in SEEDS:
        try:
            case = case_of(RandomLark(seed).text(), seed)
        except GrammarError:
            continue  # rules that derive nothing
        masks += check_case(case, seed).masks
    assert masks >= 150
