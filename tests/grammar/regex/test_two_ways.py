"""Assertions are compiled away in two ways that share little; where both work they mean the same."""

from __future__ import annotations

import random

from oracle import random_regexes as randoms
from support.byte_matcher import ByteMatcher

from stackmask import Grammar
from stackmask.grammar.ir import ANY_TEXT, Expr, Rule, RuleSet
from stackmask.grammar.languages.classes import TooLarge
from stackmask.grammar.regex.assertions import AssertedPattern, apart
from stackmask.grammar.regex.automaton import automaton_expr
from stackmask.grammar.regex.flavours.ecma import ecma_reader
from stackmask.grammar.regex.pattern.tree import Edge, Look, TooEntangled, walk_nodes


def matcher(expr: Expr) -> ByteMatcher:
    return ByteMatcher(Grammar(RuleSet({"root": Rule("root", expr)}, "root")))


def test_apart_and_as_an_automaton() -> None:
    rng = random.Random(15)
    compared = entangled = 0
    atoms = [atom for atom in randoms.SMALL_ATOMS if atom != r"\n"]
    for _ in range(300):
        pattern = randoms.random_pattern(rng, 3, atoms, ("^", "$", r"\b", r"\B"))
        search = rng.random() < 0.5
        reader = ecma_reader(pattern, 0, False)
        tree = reader.read()
        if reader.problems.found or not any(isinstance(node, Edge | Look) for node in walk_nodes(tree)):
            continue
        try:
            found = apart(AssertedPattern(tree, False, ANY_TEXT), search)
        except TooEntangled:
            entangled += 1
            continue
        try:
            one, other = matcher(found), matcher(automaton_expr(tree, search, False))
        except TooLarge:  # its automaton is small, but the expression of it is not
            continue
        for text in rng.sample(randoms.SMALL_TEXTS, 60):
            assert one.matches(text) == other.matches(text), (pattern, search, text)
        compared += 1
    assert compared > 150
    assert entangled < 60
