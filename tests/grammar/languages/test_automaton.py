"""Automata mean what their expressions mean: to the terms of the engine, and to Python's ``re``."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from oracle import regular as textbook

from stackmask.grammar import ir
from stackmask.grammar.languages.automaton import Automaton, automaton_of, reaching
from stackmask.grammar.languages.classes import TooLarge, char_class
from stackmask.grammar.languages.partition import merged
from stackmask.grammar.regex.compile import regex_expr
from stackmask.pda.lowering.questions import Recognizer

LETTERS = "abé"
TEXTS = ["".join(chars) for count in range(5) for chars in product(LETTERS, repeat=count)]
MOST = 400
PARTS = ("a", "b", "é", "[ab]", "[^a]", ".", "(?:ab|a)", "(?:b|)", "(?:a|bé)")


def random_expr(rng: random.Random, depth: int, booleans: bool = True) -> ir.Expr:
    def item() -> ir.Expr:
        return random_expr(rng, depth - 1, booleans)

    kind = rng.randrange(8 if booleans else 5) if depth else 0
    match kind:
        case 0 | 1:
            return rng.choice(
                [
                    ir.Literal(b"a"),
                    ir.Literal("bé".encode()),
                    char_class(((97, 98),)),
                    ir.ANY_CHAR,
                    ir.EPSILON,
                ]
            )
        case 2:
            return ir.Sequence((item(), item()))
        case 3:
            return ir.Choice((item(), item()))
        case 4:
            low = rng.randrange(3)
            return ir.Repeat(item(), low, rng.choice((None, low, low + 2)))
        case 5 | 6:
            return ir.Intersection((item(), item()))
    return ir.Complement(item())


def matches(automaton: Automaton, text: str) -> bool:
    state: int | None = 0
    for char in text:
        code = ord(char)
        letters = (a for a, ranges in enumerate(automaton.classes) if any(x <= code <= y for x, y in ranges))
        state = automaton.rows[state].get(next(letters, -1)) if state is not None else None
    return state is not None and automaton.accepting[state]


def accepted(automaton: Automaton) -> list[bool]:
    return [matches(automaton, text) for text in TEXTS]


def recognized(expr: ir.Expr) -> list[bool]:
    return Recognizer(expr).matches([text.encode() for text in TEXTS])


@pytest.mark.parametrize("seed", range(120))
def test_operations_agree_with_terms(seed: int) -> None:
    rng = random.Random(seed)
    expr, other = random_expr(rng, 4), random_expr(rng, 3)
    whole = ir.Choice((expr, other))  # so that both have the same classes
    try:
        automaton = automaton_of(ir.Intersection((whole, expr)), MOST)
        second = automaton_of(ir.Intersection((whole, other)), MOST)
        written = automaton.expression()
    except TooLarge:
        return
    inside = recognized(expr)
    assert accepted(automaton) == inside
    assert recognized(written) == inside
    smallest = automaton.minimal()
    assert accepted(smallest) == inside
    assert smallest.minimal() == smallest
    assert len(smallest.rows) <= max(1, len(automaton.alive()))
    assert accepted(automaton.complement()) == [not is_in for is_in in inside]
    both = [a and b for a, b in zip(inside, recognized(other), strict=True)]
    if automaton.classes == second.classes:
        assert accepted(automaton.intersection(second, MOST**2)) == both
    dfa = textbook.compile_dfa(expr, {})
    # each state of a trimmed automaton has strings: it has infinitely many if all that follow it go on
    assert automaton.is_endless() == (not dfa.is_empty() and all(dfa.steps))


def test_what_ends_in_some_way_is_not_endless() -> None:
    automaton = automaton_of(regex_expr("a[b-d]+|ef?|", flavor="python"), MOST)
    assert not automaton.is_endless()  # after "e" only "f" comes


@pytest.mark.parametrize("seed", range(60))
def test_patterns_agree_with_re(seed: int) -> None:
    rng = random.Random(seed)
    pattern = "".join(
        part + rng.choice(("", "", "?", "*", "+", "{2}", "{1,3}")) for part in rng.choices(PARTS, k=4)
    )
    automaton = automaton_of(regex_expr(pattern, flavor="python"), MOST)
    judge = re.compile(pattern)
    assert accepted(automaton) == [judge.fullmatch(text) is not None for text in TEXTS]


def test_what_is_too_large_is_told() -> None:
    with pytest.raises(TooLarge):
        automaton_of(ir.Repeat(ir.ANY_CHAR, 0, 1_000), 500)
    with pytest.raises(TooLarge):
        automaton_of(ir.Choice(tuple(char_class(((2 * c, 2 * c),)) for c in range(600))), 500)


@pytest.mark.parametrize("seed", range(40))
def test_states_are_merged_as_pairs_say(seed: int) -> None:
    """Two states are one if no string tells them apart: found by marking pairs (E. F. Moore, 1956)."""
    rng = random.Random(seed)
    count = rng.randrange(2, 12)
    rows = [{a: rng.randrange(count) for a in range(2) if rng.random() < 0.8} for _ in range(count)]
    accepting = [rng.random() < 0.4 for _ in range(count)]
    alive = sorted(
        reaching(
            ((s, t) for s, row in enumerate(rows) for t in row.values()),
            (s for s in range(count) if accepting[s]),
        )
    )
    number = {state: at for at, state in enumerate(alive)}
    moves = [(number[s], a, number[t]) for s in alive for a, t in rows[s].items() if t in number]
    found = merged([accepting[s] for s in alive], moves, 2)
    target = {(s, a): t for s, a, t in moves}
    apart = {
        (s, t) for s in number.values() for t in number.values() if accepting[alive[s]] != accepting[alive[t]]
    }
    while True:
        more = {
            (s, t)
            for s in number.values()
            for t in number.values()
            for a in range(2)
            if (((s, a) in target) != ((t, a) in target)) or (target.get((s, a)), target.get((t, a))) in apart
        }
        if more <= apart:
            break
        apart |= more
    assert all(
        (found[s] == found[t]) == ((s, t) not in apart) for s in number.values() for t in number.values()
    )
    assert found == [{b: n for n, b in enumerate(dict.fromkeys(found))}[b] for b in found]


@pytest.mark.parametrize("most", [1, 4, 300])
def test_all_ends_of_a_search_are_one_state(most: int) -> None:
    some = ir.Repeat(char_class(((97, 98),)), 1, most)
    expr = ir.Sequence((ir.ANY_TEXT, some, ir.ANY_TEXT))
    automaton = automaton_of(expr, MOST)
    assert len(automaton.rows) <= 4  # of a search for 300 letters there would be a state for each
    assert accepted(automaton) == recognized(expr)
