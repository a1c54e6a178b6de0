"""Budgets where a token is a special one and has a text, too: it may be read as either, and leads to both places."""

from __future__ import annotations

import random

import numpy as np
import pytest

import stackmask as sm
from stackmask.grammar.source.diagnostics import StackmaskError

FAR = 2_000
MOST_STEPS = 2_000


def allowed(matcher: sm.Matcher, size: int, budget: int | None = None) -> set[int]:
    """Return the tokens of a mask, with or without a budget."""
    mask = sm.allocate_token_bitmask(1, size)
    if budget is None:
        matcher.fill_next_token_bitmask(mask)
    else:
        matcher.fill_next_token_bitmask(mask, budget=budget)
    return set(np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")[:size]).tolist())


def fewest(matcher: sm.Matcher, size: int, most: int) -> int | None:
    """Return how many tokens end the text, by a search of all of them without budgets; None if more than ``most``."""
    level = [matcher.fork()]
    steps = 0
    for depth in range(most + 1):
        if any(place.is_accepting() for place in level):
            return depth
        after = []
        for place in level:
            for token in allowed(place, size) - {size - 1}:
                steps += 1
                after.append(place.fork())
                assert after[-1].accept_token(token)
        if steps > MOST_STEPS:
            return None
        level = after
    return None


def random_grammar(source: random.Random, tokens: int) -> str:
    """Return a small grammar with classes of special tokens, all of which have texts."""
    names = ["root", *(f"r{i}" for i in range(source.randint(0, 2)))]

    def part() -> str:
        draw = source.random()
        if draw < 0.25:
            return source.choice(names)
        if draw < 0.45:
            listed = ",".join(map(str, sorted(source.sample(range(tokens), source.randint(1, 3)))))
            return f"<[{'^' if source.random() < 0.5 else ''}{listed}]>"
        if draw < 0.6:
            low = source.randint(0, 3)
            return f'"{source.choice("abc")}"{{{low},{low + source.randint(0, 3)}}}'
        return f'"{"".join(source.choices("abc", k=source.randint(1, 3)))}"'

    rules = []
    for name in names:
        ways = [" ".join(part() for _ in range(source.randint(1, 3))) for _ in range(source.randint(1, 3))]
        ways.append(f'"{"".join(source.choices("abc", k=source.randint(1, 5)))}"')
        rules.append(f"{name} ::= {' | '.join(ways)}")
    return "\n".join(rules)


@pytest.mark.parametrize("part", range(4))
def test_budgets_are_exact_where_tokens_are_read_in_two_ways(part: int) -> None:
    compared = 0
    for number in range(60):
        source = random.Random(1000 * part + number)
        texts = [b"a", b"b", b"c"]
        texts += [bytes(source.choices(b"abc", k=source.randint(1, 4))) for _ in range(source.randint(0, 6))]
        source.shuffle(texts)
        stop = len(texts)
        vocabulary = sm.Vocabulary([*texts, None], stop_ids=[stop])
        try:
            grammar = sm.Grammar.from_ebnf(random_grammar(source, len(texts)))
            matcher = sm.Compiler(vocabulary).compile(grammar).matcher()
        except StackmaskError:
            continue  # no text at all
        for _ in range(source.randint(0, 4)):
            tokens = sorted(allowed(matcher, stop + 1) - {stop})
            if tokens:
                matcher.accept_token(source.choice(tokens))
        free = allowed(matcher, stop + 1)
        needed = matcher.needs_at_least()
        searched = fewest(matcher, stop + 1, min(needed - 1, 4))
        assert searched is None or searched == needed - 1
        assert allowed(matcher, stop + 1, needed + FAR) == free
        for budget in (needed, needed + 1, needed + 3):
            kept = allowed(matcher, stop + 1, budget)
            assert kept
            assert kept <= free
            for token in kept - {stop}:
                after = matcher.fork()
                assert after.accept_token(token)
                assert after.needs_at_least() < budget
                compared += 1
    assert compared > 100


@pytest.mark.parametrize("token", [b"by", b"b", b"xb"])
def test_a_known_end_is_not_written_as_text(token: bytes) -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), token, None]
    vocabulary = sm.Vocabulary(tokens, stop_ids=[257])
    compiled = sm.Compiler(vocabulary).compile(sm.Grammar.from_ebnf('root ::= "x" <[98]> "y"'))
    after = compiled.matcher()
    assert after.accept_token(ord("x"))
    assert after.needs_at_least() == 3  # so the end is known when the start is asked for
    matcher = compiled.matcher()
    assert matcher.shortest_completion().tokens == (ord("x"), 98, ord("y"))
    assert matcher.needs_at_least() == 4
    assert allowed(matcher, 258, 4) == {ord("x")}
