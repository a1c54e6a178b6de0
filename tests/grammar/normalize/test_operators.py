"""Rules that call themselves at both ends: the same language as before, and a step that does not grow with the text."""

from __future__ import annotations

import random

import pytest
from oracle.comparing import TOKENS, check_invariants, compare
from oracle.earley import Recognizer
from support.campaign import mostly_campaign

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import (
    EPSILON,
    Capture,
    Choice,
    Expr,
    Literal,
    NotFollowedBy,
    Repeat,
    Rule,
    RuleRef,
    RuleSet,
    Scope,
    Sequence,
)
from stackmask.grammar.normalize import normalize
from stackmask.grammar.normalize.graph import reference_graph
from stackmask.grammar.source.diagnostics import GrammarError

LETTERS = "abcd"


class Operators:
    """Random rules of operators, alone or through each other, with all that may stand at their ends."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.names = [f"e{i}" for i in range(self.rng.choice([1, 1, 2, 3]))]

    def rule_set(self) -> RuleSet:
        rules = {}
        for name in self.names:
            ways = [self.way(name) for _ in range(self.rng.randint(1, 4))]
            ways.append(self.atom())
            if self.rng.random() < 0.2:
                ways.append(self.rng.choice([EPSILON, Sequence(()), NotFollowedBy(1 << ord("a"))]))
            self.rng.shuffle(ways)
            rules[name] = Rule(name, Choice(tuple(ways)))
        rules["w"] = Rule(
            "w", Sequence((Literal(b"d"), NotFollowedBy(self.rng.choice([1 << ord("d"), 6 << 96]))))
        )
        return RuleSet(rules, self.names[0], (b"a",))

    def atom(self) -> Expr:
        letter = Literal(self.rng.choice(LETTERS).encode())
        return self.rng.choice(
            [
                letter,
                letter,
                RuleRef("w"),
                Sequence((letter, self.operand(), letter)),
                Capture(letter),
                Scope(Sequence((Capture(letter), self.operand(), letter))),
            ]
        )

    def operand(self) -> Expr:
        return RuleRef(self.rng.choice(self.names), self.rng.random() < 0.2)

    def between(self) -> Expr:
        letter = Literal(self.rng.choice(LETTERS).encode())
        return self.rng.choice(
            [
                EPSILON,
                Sequence(()),
                letter,
                letter,
                Choice((letter, EPSILON)),
                Repeat(letter, 1, None),
                Sequence((letter, self.operand(), letter)),
                RuleRef("w"),
                NotFollowedBy(1 << ord(self.rng.choice(LETTERS))),
                Capture(letter),
            ]
        )

    def way(self, name: str) -> Expr:
        here: Expr = RuleRef(name) if self.rng.random() < 0.7 else self.operand()
        there: Expr = RuleRef(name) if self.rng.random() < 0.7 else self.operand()
        kind = self.rng.randrange(8)
        if kind == 0:
            return Sequence((self.between(), there))
        if kind == 1:
            return Sequence((here, self.between()))
        if kind == 2:
            return Sequence((self.atom(), Repeat(Sequence((self.between(), there)), 0, None)))
        if kind == 3:
            return Sequence((here, Repeat(Sequence((self.between(), Choice((there, self.atom())))), 1, None)))
        if kind == 4:
            return Sequence((here, Sequence((self.between(), Choice((there, Sequence(())))))))
        return Sequence((here, self.between(), there))


@pytest.mark.parametrize("group", mostly_campaign(range(8), 1))
def test_random_operators(group: int) -> None:
    judged = merged = 0
    for seed in range(group * 60, group * 60 + 60):
        rules = Operators(f"operators {seed}").rule_set()
        try:
            normal = normalize(rules)
        except GrammarError:
            continue  # left recursion after a restriction, and the like
        check_invariants(normal)
        compare(rules, normal, 250)
        judged += 1
        merged += len(rules.rules) - 1 == 1 and "e0" not in reference_graph(normal).get("e0", ())
    assert judged > 20
    assert merged > 2


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('root ::= root root | "a"', "a" * 9),
        ('root ::= root "+" root | "-" root | root "!" | "a"', "-a!+-a+a!!"),
        ('root ::= sum | "a"\nsum ::= root "+" root', "a+a+a+a"),
        ('root ::= sum | neg | "a"\nsum ::= root op root\nneg ::= "-" root\nop ::= "+" | "*"', "-a+a*-a"),
        ('root ::= term ("+" term)*\nterm ::= "-" root | "a"', "a+-a+--a+a"),
        ('root ::= "a" ("+" root)*', "a+a+a+a"),
        ('root ::= root ("+" root)+ | "a"', "a+a+a+a"),
    ],
)
def test_one_reading(text: str, document: str) -> None:
    grammar = Grammar.from_ebnf(text)
    normal = normalize(grammar.rules)
    assert all(name not in called for name, called in reference_graph(normal).items())
    chart = Recognizer(grammar.rules, TOKENS).start()
    other = Recognizer(normal, TOKENS).start()
    recognizers = Recognizer(grammar.rules, TOKENS), Recognizer(normal, TOKENS)
    for byte in document.encode():
        chart, other = recognizers[0].advance(chart, byte), recognizers[1].advance(other, byte)
        assert chart.viable
        assert (chart.viable, chart.accepting) == (other.viable, other.accepting)
    assert chart.accepting
