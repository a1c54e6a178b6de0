"""Invariant 4: masks do not depend on how a place was reached, nor on what was asked before or meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from support.threads import in_threads

import stackmask
from exactness.walks import Case, engine_mask, random_case

SEEDS = range(2000, 2060)
STEPS = 8


@dataclass
class Walked:
    """A text of tokens under a grammar, and the mask before each of them, from a matcher of its own."""

    case: Case
    path: list[int]
    masks: list[set[int]]

    @property
    def size(self) -> int:
        return len(self.case.vocabulary.tokens)


def walk(seed: int, case: Case, compiled: stackmask.CompiledGrammar) -> Walked:
    rng = random.Random(seed)
    matcher = compiled.matcher()
    result = Walked(case, [], [])
    for _ in range(STEPS):
        allowed = engine_mask(matcher, result.size)
        result.masks.append(allowed)
        going_on = sorted(allowed - set(case.vocabulary.stop_ids))
        if not going_on:
            break
        result.path.append(rng.choice(going_on))
        assert matcher.accept_token(result.path[-1])
    else:
        result.masks.append(engine_mask(matcher, result.size))
    return result


@pytest.fixture(scope="module")
def walks() -> list[Walked]:
    found = []
    for seed in SEEDS:
        case = random_case(seed)
        try:
            compiled = case.compile()
        except stackmask.GrammarError:
            continue
        walked = walk(seed, case, compiled)
        if len(walked.path) >= 3:
            found.append(walked)
    assert len(found) >= 20
    return found


def test_rollback(walks: list[Walked]) -> None:
    rng = random.Random(1)
    for w in walks:
        matcher = w.case.compile().matcher()
        at = 0
        for _ in range(30):
            if at and rng.random() < 0.45:
                back = rng.randint(1, at)
                matcher.rollback(back)
                at -= back
            elif at < len(w.path):
                assert matcher.accept_token(w.path[at])
                at += 1
            if rng.random() < 0.5:  # masks are not asked everywhere
                assert engine_mask(matcher, w.size) == w.masks[at]
        with pytest.raises(stackmask.StackmaskError):
            matcher.rollback(at + 1)
        assert engine_mask(matcher, w.size) == w.masks[at]
        matcher.reset()
        assert engine_mask(matcher, w.size) == w.masks[0]


def test_rollback_of_a_stop_token(walks: list[Walked]) -> None:
    ended = 0
    for w in walks:
        matcher = w.case.compile().matcher()
        for token, mask in zip([*w.path, None], w.masks, strict=False):
            for stop in w.case.vocabulary.stop_ids:
                fork = matcher.fork()
                if stop in mask:
                    assert fork.accept_token(stop)
                    ended += fork.is_terminated()
                    fork.rollback(1)
                    assert engine_mask(fork, w.size) == mask
            if token is not None:
                matcher.accept_token(token)
    assert ended


def test_forks_are_independent(walks: list[Walked]) -> None:
    rng = random.Random(2)
    for w in walks:
        matcher = w.case.compile().matcher()
        forks = []
        for at, mask in enumerate(w.masks):
            fork = matcher.fork()
            others = sorted(mask)
            if others:
                assert fork.accept_token(rng.choice(others))
                engine_mask(fork, w.size)
            forks.append((at, matcher.fork()))
            assert engine_mask(matcher, w.size) == mask
            if at < len(w.path):
                assert matcher.accept_token(w.path[at])
        for at, fork in reversed(forks):
            assert engine_mask(fork, w.size) == w.masks[at]
            fork.rollback(at)
            assert engine_mask(fork, w.size) == w.masks[0]


def test_order_of_the_questions(walks: list[Walked]) -> None:
    """The last mask is asked first, then backwards; then again, with everything remembered."""
    for w in walks:
        compiled = w.case.compile()
        for _ in range(2):
            matcher = compiled.matcher()
            for token in w.path:
                assert matcher.accept_token(token)
            for at in range(len(w.path), -1, -1):
                assert engine_mask(matcher, w.size) == w.masks[at]
                if at:
                    matcher.rollback(1)


def test_precomputed(walks: list[Walked]) -> None:
    for w in walks:
        compiled = w.case.compile()
        compiled.precompute(budget=20_000)
        assert list(masks_along(compiled, w)) == w.masks


def masks_along(compiled: stackmask.CompiledGrammar, w: Walked) -> Iterator[set[int]]:
    matcher = compiled.matcher()
    yield engine_mask(matcher, w.size)
    for token in w.path:
        assert matcher.accept_token(token)
        yield engine_mask(matcher, w.size)


def test_text_in_place_of_tokens(walks: list[Walked]) -> None:
    """A token that is text and no token terminal leads where its bytes lead."""
    for w in walks:
        if w.case.vocabulary.special_names and any(w.case.vocabulary.tokens[t] is None for t in w.path):
            continue
        text = b"".join(w.case.vocabulary.tokens[t] or b"" for t in w.path)
        matcher = w.case.compile().matcher()
        if "TokenTerminal" not in repr(w.case.rules.rules):
            assert matcher.accept_string(text)
            assert engine_mask(matcher, w.size) == w.masks[-1]


def test_batches(walks: list[Walked]) -> None:
    for w in walks:
        compiled = w.case.compile()
        matchers = []
        for at in range(len(w.masks)):
            matchers.append(compiled.matcher())
            for token in w.path[:at]:
                assert matchers[-1].accept_token(token)
        mask = stackmask.allocate_token_bitmask(len(matchers), w.size)
        stackmask.fill_next_token_bitmask(matchers, mask)
        assert [bits(row, w.size) for row in mask] == w.masks


def bits(row: np.ndarray, size: int) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[:size]).tolist())


def test_draft_trees(walks: list[Walked]) -> None:
    """Each node of a random tree of tokens has the mask that a matcher walked there has; dead ones have none."""
    rng = random.Random(3)
    for w in walks:
        compiled = w.case.compile()
        tokens, parents = [], []
        for node in range(12):
            parents.append(rng.randrange(-1, node))
            depth, above = 0, parents[-1]
            while above >= 0:
                depth, above = depth + 1, parents[above]
            on_path = depth < len(w.path) and rng.random() < 0.7
            tokens.append(w.path[depth] if on_path else rng.randrange(w.size))
        mask = stackmask.allocate_token_bitmask(len(tokens) + 1, w.size)
        matcher = compiled.matcher()
        verdicts = matcher.fill_draft_bitmask(tokens, parents, mask)
        assert bits(mask[0], w.size) == engine_mask(matcher, w.size) == w.masks[0]
        for node, row in enumerate(mask[1:]):
            way, above = [], node
            while above >= 0:
                way.append(tokens[above])
                above = parents[above]
            other = w.case.compile().matcher()
            alive = all(other.accept_token(token) for token in reversed(way))
            assert verdicts[node] == alive
            assert bits(row, w.size) == (engine_mask(other, w.size) if alive else set())


def test_threads(walks: list[Walked]) -> None:
    """Several threads ask one compiled grammar at once, each in an order of its own."""
    shared = [(w, w.case.compile()) for w in walks]

    def work(seed: int) -> None:
        for w, compiled in random.Random(seed).sample(shared, len(shared)):
            assert list(masks_along(compiled, w)) == w.masks

    in_threads(work)
