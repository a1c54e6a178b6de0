"""Invariants 1, 2, 3 and 5 on random grammars: every bit of every mask is what the oracle says.

``./dev nightly`` judges thousands; what disagrees it makes small and writes to ``tests/regressions``.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.campaign import SCALE, mostly_campaign

import stackmask
from exactness.regressions import FOLDER, save
from exactness.shrink import shrink
from exactness.walks import MUCH, Case, Mismatch, Outcome, check_case, engine_mask, random_case, word_case

GROUPS, PER_GROUP = 10, 30
TOO_SLOW = {32, 55, 118, 225}  # for a test: ambiguous beyond reason; the campaign judges them


@pytest.mark.parametrize("group", mostly_campaign(range(GROUPS), 2))
def test_masks_equal_the_oracle(group: int) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(group * PER_GROUP, (group + 1) * PER_GROUP):
        if seed not in TOO_SLOW:
            kinds[check_case(random_case(seed), seed, walks=1, steps=8).kind] += 1
    assert kinds["judged"] >= 20, kinds  # 200 in all groups


class OutOfTime(BaseException):
    """A grammar took more than its share of processor time."""


@contextmanager
def processor_seconds(limit: float) -> Iterator[None]:
    """Raise OutOfTime when the block has used so much processor time."""

    def stop(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def judged(case: Case, seed: int, limit: float) -> Outcome | None:
    """Return what came of a case, or None where it takes too long."""
    try:
        with processor_seconds(limit):
            return check_case(case, seed)
    except (OutOfTime, stackmask.BudgetError):
        return None


def disagrees(case: Case, seed: int) -> bool:
    """Return whether engine and oracle part soon."""
    try:
        judged(case, seed, 2)
    except Mismatch:
        return True
    except (stackmask.StackmaskError, IndexError):  # a case that was made smaller may be none
        return False
    return False


@pytest.mark.campaign
@pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="no timer of processor time")
@pytest.mark.parametrize("group", range(GROUPS))
def test_many_more(group: int) -> None:
    failed, judgements = [], 0
    for seed in range(100_000 + group, 100_000 + 70 * SCALE, GROUPS):
        case = word_case(seed) if seed % 4 == 0 else random_case(seed)
        try:
            outcome = judged(case, seed, 10)
            judgements += outcome is not None and outcome.kind == "judged"
        except Mismatch as error:
            save(
                FOLDER / f"random_{seed}.txt",
                shrink(case, lambda c, s=seed: disagrees(c, s), 500),
                seed,
                str(error),
            )
            failed.append(seed)
    assert not failed
    assert judgements >= 4 * SCALE


@pytest.mark.campaign
def test_restrictions_that_cross_returns() -> None:
    judged = sum(check_case(word_case(s), s, walks=1, steps=8).kind == "judged" for s in range(100))
    assert judged >= 80


def test_words_behind_a_restriction_may_leave_more_than_a_merge_is_worth() -> None:
    # a head that is walked because a restriction stands before it, over a vocabulary that is small against what is left
    check_case(word_case(910099), 910099)


@pytest.mark.campaign
def test_no_dead_ends_on_long_walks() -> None:
    """Invariant 2, far from the start: after any allowed token something is allowed, and accepted."""
    walked = 0
    for seed in sorted(set(range(1000, 1060)) - {1025, 1039, 1041, 1045}):  # too ambiguous to be quick
        case = random_case(seed)
        try:
            matcher = case.compile(max_work=MUCH).matcher()
        except stackmask.GrammarError:
            continue
        rng = random.Random(seed)
        for _ in range(40):
            allowed = engine_mask(matcher, len(case.vocabulary.tokens))
            assert allowed, (seed, matcher.accept_calls)
            token = rng.choice(sorted(allowed))
            assert matcher.accept_token(token), (seed, token)
            walked += 1
            if matcher.is_terminated():
                assert token in case.vocabulary.stop_ids
                assert not engine_mask(matcher, len(case.vocabulary.tokens))
                break
    assert walked > 500
