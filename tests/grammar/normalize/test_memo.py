"""What is remembered of bodies changes nothing: rules mixed from known bodies come out as from a fresh start."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from oracle.random_grammars import random_features, random_rule_set

import stackmask as sm
from stackmask.grammar.ir import CharClass, Expr, Literal, Repeat, RuleSet, Sequence
from stackmask.grammar.ir.build import with_bodies
from stackmask.grammar.ir.dump import dump
from stackmask.grammar.normalize import memo, normalize
from stackmask.grammar.source.diagnostics import GrammarError


def outcome(rules: RuleSet) -> str:
    """Return the normal form, or what is said against the rules."""
    try:
        return dump(normalize(rules))
    except GrammarError as error:
        return str(error)


def fresh_outcome(rules: RuleSet) -> str:
    memo.forget()
    return outcome(rules)


@pytest.mark.parametrize("group", range(4))
def test_random_grammars_with_bodies_exchanged(group: int) -> None:
    for seed in range(group * 40, group * 40 + 40):
        rng = random.Random(seed)
        features = random_features(rng)
        rules = random_rule_set(seed, replace(features, rules=min(features.rules, 4)))
        other = random_rule_set(seed + 10_000, replace(features, rules=min(features.rules, 4)))
        bodies = [rule.body for rules in (rules, other) for rule in rules.rules.values()]
        mixed = [
            with_bodies(rules, {name: rng.choice([rule.body, *bodies]) for name, rule in rules.rules.items()})
            for _ in range(4)
        ]
        expected = [fresh_outcome(one) for one in mixed]
        memo.forget()
        order = [*range(4), *range(4)]
        rng.shuffle(order)
        for i in order:
            assert outcome(mixed[i]) == expected[i], seed


def test_dialects_with_rules_exchanged() -> None:
    base = sm.Grammar.from_sql("sqlite").rules
    names = Sequence((CharClass(((97, 102),)), Repeat(CharClass(((97, 122),)), 0, 3)))
    changes: list[dict[str, Expr]] = [
        {},
        {"TABLE_NAME": names},
        {"COLUMN_NAME": names, "TABLE_NAME": Literal(b"t")},
        {"NAME": names},
        {"%skip": Literal(b" ")},
    ]
    bodies = {name: rule.body for name, rule in base.rules.items()}
    variants = [with_bodies(base, bodies | change) for change in changes]
    expected = [fresh_outcome(one) for one in variants]
    assert len(set(expected)) == len(expected)
    memo.forget()
    for i in (0, 3, 1, 0, 4, 2, 3):
        assert outcome(variants[i]) == expected[i]


def test_places_in_messages_are_those_of_the_text_at_hand() -> None:
    for indent in ("", "    ", "\n\n", ""):
        with pytest.raises(GrammarError) as caught:
            normalize(sm.Grammar.from_ebnf(f'{indent}root ::= "a" (root & "b")').rules)
        span = caught.value.diagnostics[0].span
        assert span is not None
        assert span.start == len(indent)


def test_known_bodies_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = sm.Grammar.from_sql("sqlite").rules
    expected = fresh_outcome(rules)

    def forbidden(*_: object) -> None:
        raise AssertionError("a body that is known was walked again")

    for module in ("productive", "booleans", "left_recursion", "inline"):
        monkeypatch.setattr(f"stackmask.grammar.normalize.{module}.walk", forbidden, raising=False)
    monkeypatch.setattr("stackmask.grammar.ir.build.rebuild", forbidden)
    # equal rules of a program that are other objects are known too
    again = with_bodies(
        rules, {name: rule.body for name, rule in sm.Grammar.from_sql("sqlite").rules.rules.items()}
    )
    assert outcome(again) == expected


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    memo.forget()
    monkeypatch.setattr(memo, "MAX_NODES", 300)
    monkeypatch.setattr(memo, "MAX_ANSWERS", 50)
    for i in range(60):
        rules = sm.Grammar.from_ebnf(f'root ::= "{i}" x "end" | root "{i}"\nx ::= "a" | "b" x')
        assert outcome(rules.rules) == outcome(rules.rules)
        assert memo._held[0] <= 300 + 50
        assert memo._held[1] <= 50
        assert sum(len(found) for _, found in memo._answers.values()) <= 51
