"""Under which restrictions a rule can be empty: only those count that no weaker one covers."""

from __future__ import annotations

import random

from support.byte_matcher import ByteMatcher

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.normalize.nullable import both, minimal

BYTES = range(4)


def possible(masks: set[int] | frozenset[int]) -> set[int]:
    """Return the bytes before which something can be empty, of which each mask forbids some."""
    return {byte for byte in BYTES if any(not (mask >> byte) & 1 for mask in masks)}


def test_minimal_masks_allow_the_same_bytes() -> None:
    rng = random.Random(1)
    for _ in range(300):
        masks = {rng.randrange(16) for _ in range(rng.randrange(5))}
        kept = minimal(masks)
        assert kept <= masks
        assert possible(kept) == possible(masks)
        assert not any(a != b and a & b == a for a in kept for b in kept)


def test_both_is_one_way_of_each_side() -> None:
    assert both(frozenset({1, 2}), frozenset({4})) == {5, 6}
    assert both(frozenset({1}), frozenset({1, 3})) == {1}
    assert both(frozenset({0}), frozenset()) == both(frozenset({1}), frozenset()) == frozenset()


def test_the_weaker_of_two_restrictions_decides() -> None:
    matcher = ByteMatcher(
        Grammar.from_ebnf('root ::= "c" x [abd]\nx ::= "" !>> [a] | "" !>> [ab] | "x" root')
    )
    assert matcher.matches("cb")
    assert matcher.matches("cd")
    assert not matcher.matches("ca")
