"""Runs, constrained runs and merged suffixes: random grammars over vocabularies that make walks short.

Subtrees of less than some hundreds of nodes are always walked, so these vocabularies hold all short words over the
characters of the grammar. Every bit is compared with ``accept_token`` on a fork, and a sample with the oracle.
"""

from __future__ import annotations

import random

import pytest
from exactness.random_runs import ALPHABETS, Maker, vocabulary
from exactness.walks import Mismatch, engine_mask
from oracle.earley import Recognizer
from oracle.masks import brute_force_mask
from oracle.regular import TooLarge
from support.campaign import mostly_campaign

import stackmask


def by_accepting(matcher: stackmask.Matcher, size: int, stop: int) -> set[int]:
    """Return the tokens that the matcher accepts, each tried."""
    allowed = set()
    for token in range(size):
        if matcher.accept_token(token):
            matcher.rollback()
            allowed.add(token)
    assert (stop in allowed) == matcher.is_accepting()
    return allowed


def judge(seed: int, sample: int = 100, steps: int = 5, whole: bool = False) -> int:
    """Walk a random grammar; return how many masks were compared. ``whole``: every bit with the oracle."""
    rng = random.Random(f"runs {seed}")
    alphabet = ALPHABETS[seed % len(ALPHABETS)]
    maker = Maker(rng, alphabet)
    rules = maker.rule_set()
    tokens = vocabulary(rng, alphabet, maker.words)
    stop = len(tokens) - 1
    try:
        compiled = stackmask.Compiler(stackmask.Vocabulary(tokens, stop_ids=[stop])).compile(
            stackmask.Grammar(rules)
        )
        recognizer = Recognizer(rules)
    except (stackmask.GrammarError, TooLarge):
        return 0
    masks = 0
    for _ in range(2):
        matcher, column, path = compiled.matcher(), recognizer.start(), b""
        for _ in range(steps):
            try:
                got = engine_mask(matcher, len(tokens))
                wrong = got ^ by_accepting(matcher, len(tokens), stop)
            except stackmask.BudgetError:
                return masks  # ambiguous captures may have as many values as the text has parts
            chosen = set(rng.sample(range(stop), sample))
            chosen |= set(rng.sample(sorted(got), min(len(got), sample)))
            only = None if whole else chosen
            expected = brute_force_mask(recognizer, [column], tokens, [stop], only)
            wrong |= (got if whole else got & chosen) ^ expected
            if wrong:
                many = [tokens[i] for i in sorted(wrong & got)]
                few = [tokens[i] for i in sorted(wrong - got)]
                raise Mismatch(f"seed {seed} after {path!r}: too many {many[:9]}, missing {few[:9]}: {rules}")
            if not got:
                raise Mismatch(f"seed {seed} after {path!r}: dead end: {rules}")
            masks += 1
            going_on = sorted(got - {stop})
            if not going_on:
                break
            token = rng.choice([i for i in going_on if len(tokens[i] or b"") < 4] or going_on)
            assert matcher.accept_token(token)
            column = recognizer.run(tokens[token] or b"", column)
            path += tokens[token] or b""
    return masks


@pytest.mark.parametrize("block", mostly_campaign(range(4), 2))
def test_random_runs(block: int) -> None:
    assert sum(judge(seed) for seed in range(5 * block, 5 * block + 5)) > 10
