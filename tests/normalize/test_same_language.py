"""Normalised and original rules mean the same: compared symbol by symbol with the oracle, exhaustively."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from oracle.earley import Recognizer, Symbol
from oracle.random_grammars import CHARACTERS, SPECIAL_NAMES, Features, random_features, random_rule_set
from oracle.regular import TooLarge

from stackmask.grammar.diagnostics import GrammarError
from stackmask.grammar.ir import Complement, Intersection, RuleRef, RuleSet, walk
from stackmask.grammar.normalize import left_calls, normalize
from stackmask.grammar.normalize.graph import components

TOKENS = {name: 300 + i for i, name in enumerate(SPECIAL_NAMES)}
ALPHABET: list[Symbol] = [*sorted(set(CHARACTERS.encode())), *(("token", i) for i in TOKENS.values())]


def compare(one: RuleSet, other: RuleSet, budget: int) -> int:
    """Compare viability and acceptance along all prefixes, breadth first; return how many were looked at."""
    left, right = Recognizer(one, TOKENS), Recognizer(other, TOKENS)
    todo = [((), left.start(), right.start())]
    for prefix, a, b in todo:
        assert (a.viable, a.accepting) == (b.viable, b.accepting), prefix
        if a.viable and len(todo) < budget:
            todo += [((*prefix, s), left.advance(a, s), right.advance(b, s)) for s in ALPHABET]
    return len(todo)


def check_invariants(rules: RuleSet) -> None:
    calls = left_calls(rules)
    assert all(len(c) == 1 and c[0] not in calls[c[0]] for c in components(calls))
    for rule in rules.rules.values():
        for expr in walk(rule.body):
            if isinstance(expr, RuleRef):
                assert expr.name in rules.rules
            if isinstance(expr, Intersection | Complement):
                assert not any(isinstance(e, RuleRef) for e in walk(expr))


@pytest.mark.parametrize("group", range(8))
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
