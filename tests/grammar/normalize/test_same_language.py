"""Normalised and original rules mean the same: compared symbol by symbol with the oracle, exhaustively."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from oracle.comparing import check_invariants, compare
from oracle.random_grammars import Features, random_features, random_rule_set
from oracle.regular import TooLarge
from support.campaign import mostly_campaign

from stackmask import Grammar
from stackmask.grammar.normalize import normalize
from stackmask.grammar.source.diagnostics import GrammarError


@pytest.mark.parametrize("group", mostly_campaign(range(8), 2))
def test_random_grammars(group: int) -> None:
    judged = refused = 0
    for seed in range(group * 50, group * 50 + 50):
        rng = random.Random(seed)
        features = random_features(rng)
        rules = random_rule_set(seed, replace(features, rules=min(features.rules, 4)))
        try:
            normal = normalize(rules)
        except GrammarError:
            refused += 1
            continue
        check_invariants(normal)
        try:
            compare(rules, normal, 250)
        except TooLarge:
            continue
        judged += 1
    assert judged > refused / 2


@pytest.mark.parametrize("seed", range(60))
def test_left_recursive_grammars_with_restrictions(seed: int) -> None:
    rules = random_rule_set(f"left {seed}", Features(restrictions=True, rules=3, depth=3))
    try:
        normal = normalize(rules)
    except GrammarError:
        return
    check_invariants(normal)
    compare(rules, normal, 250)


def test_the_end_of_a_rule_that_calls_what_was_made_for_a_cycle() -> None:
    text = """
    r0 ::= r3 | "aba" | "bbba"
    r1 ::= r2 "aba" r3 | "a"
    r2 ::= r1 "a" "b" | "c" | r2
    r3 ::= r0 r1 "cb" | r1 r1 | r0 "abc" | "ccbc"
    """
    rules = Grammar.from_ebnf(text, start="r0").rules
    normal = normalize(rules)
    check_invariants(normal)
    compare(rules, normal, 250)
