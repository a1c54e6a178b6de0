"""Random grammars: the skip rule adds gaps and nothing else, and what is dumped reads back the same."""

from __future__ import annotations

import random

import pytest
from oracle.earley import Recognizer
from oracle.random_grammars import SPECIAL_NAMES, random_rule_set

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir import ByteClass, Choice, RuleRef, walk
from stackmask.grammar.ir.dump import dump
from stackmask.grammar.normalize import normalize
from stackmask.grammar.source.diagnostics import GrammarError

GAP = "_"


def random_expression(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return rng.choice(['"a"', '"b"', "[bc]", "/[ab]/", '"c"i', "root", "x", "y", '""', "()"])
    if kind < 0.55:
        return " ".join(random_expression(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    if kind < 0.75:
        return "(" + " | ".join(random_expression(rng, depth - 1) for _ in range(rng.randint(1, 3))) + ")"
    return f"({random_expression(rng, depth - 1)})" + rng.choice(["?", "*", "+", "{2}", "{1,2}"])


def test_skip_allows_gaps_between_terminals_and_nothing_else() -> None:
    # every terminal is one character, so a text with gaps is accepted iff the text without them is
    rng = random.Random(11)
    accepted = 0
    for _ in range(150):
        text = "".join(f"{name} ::= {random_expression(rng, 3)}\n" for name in ("root", "x", "y"))
        plain = Recognizer(Grammar.from_ebnf(text).rules)
        gaps = Recognizer(Grammar.from_ebnf(text + f'%skip "{GAP}"').rules)
        for _ in range(25):
            sample = "".join(rng.choices("abcC" + GAP, k=rng.randrange(7)))
            wanted = plain.accepts(sample.replace(GAP, "").encode())
            assert gaps.accepts(sample.encode()) == wanted, (text, sample)
            accepted += wanted
    assert accepted > 200


@pytest.mark.campaign
def test_what_is_dumped_reads_back_the_same() -> None:
    compared = 0
    for seed in range(600):
        rules = random_rule_set(seed)
        parts = [expr for rule in rules.rules.values() for expr in walk(rule.body)]
        if any(
            isinstance(p, ByteClass) or (isinstance(p, RuleRef) and p.nonempty) or p == Choice(())
            for p in parts
        ):
            continue  # the dialect has no words for these
        try:
            normalize(rules)
        except GrammarError:
            continue  # the oracle need not end on what is refused, such as captures without end
        # reading flattens a sequence in a sequence, so compare what comes out of the second reading
        once = Grammar.from_ebnf(dump(rules), rules.start).rules
        again = Grammar.from_ebnf(dump(once), rules.start).rules
        assert dump(again) == dump(once)
        assert {n: r.body for n, r in again.rules.items()} == {n: r.body for n, r in once.rules.items()}
        assert again.initial == rules.initial
        tokens = {name: 300 + i for i, name in enumerate(SPECIAL_NAMES)}
        ours, theirs = Recognizer(once, tokens), Recognizer(rules, tokens)
        rng = random.Random(seed)
        for _ in range(8):
            sample = "".join(rng.choices("abcdé", k=rng.randrange(5))).encode()
            assert ours.accepts(sample) == theirs.accepts(sample), (seed, sample)
        compared += 1
    assert compared > 150
