"""Long and shared sequences: the number of terms grows with what is written, not with its products."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable

import pytest

from stackmask.grammar import ir
from stackmask.pda.lowering.entry import regular_term
from stackmask.pda.terms.term_store import TermStore

LETTERS = ir.CharClass(((0x61, 0x7A),))
DIGITS = ir.CharClass(((0x30, 0x39),))
EMPTY = ir.Literal(b"")
COUNT = 2000


def optional(item: ir.Expr) -> ir.Expr:
    return ir.Repeat(item, 0, 1)


def star(item: ir.Expr) -> ir.Expr:
    return ir.Repeat(item, 0, None)


def added_terms(expr: ir.Expr, data: bytes) -> tuple[int, int]:
    """Return how many terms an expression has, and how many more its steps over ``data`` make."""
    terms = TermStore()
    term = regular_term(terms, expr)
    made = terms.size()
    assert terms.matches(term, data)
    return made, terms.size() - made


@pytest.mark.parametrize(
    ("items", "data", "most"),
    [
        pytest.param((optional(LETTERS),), b"a" * 50, 100, id="equal"),
        pytest.param((optional(LETTERS), optional(DIGITS)), b"a1" * 25, 100, id="two"),
        pytest.param((star(ir.Literal(b"a")), star(ir.Literal(b"b"))), b"ab" * 25, 200, id="stars"),
        pytest.param((optional(ir.Repeat(LETTERS, 1, None)),), b"a" * 50, 10, id="repeats"),
        pytest.param((ir.Repeat(LETTERS, 0, 9), optional(DIGITS)), b"aa1" * 20, 3000, id="counts"),
    ],
)
def test_a_step_over_optional_items_adds_few_terms(
    items: tuple[ir.Expr, ...], data: bytes, most: int
) -> None:
    made, added = added_terms(ir.Sequence(items * COUNT), data)
    assert made <= 3 * COUNT * len(items)
    assert added <= most


def chain(levels: int, rule: Callable[[ir.Expr], ir.Expr], last: ir.Expr) -> ir.Expr:
    expr = last
    for _ in range(levels):
        expr = rule(expr)
    return expr


@pytest.mark.parametrize(
    ("rule", "last", "data"),
    [
        pytest.param(lambda e: ir.Choice((ir.Sequence((e, e)), EMPTY)), LETTERS, b"ab" * 20, id="nullable"),
        pytest.param(
            lambda e: ir.Choice((ir.Sequence((e, LETTERS, e)), EMPTY)), LETTERS, b"abc" * 7, id="between"
        ),
    ],
)
def test_rules_that_double_are_shared(rule: Callable[[ir.Expr], ir.Expr], last: ir.Expr, data: bytes) -> None:
    made, added = added_terms(chain(200, rule, last), data)
    assert made <= 5_000
    assert added <= 50_000


def test_sequences_that_double_are_shared() -> None:
    terms = TermStore()
    term = regular_term(terms, chain(30, lambda e: ir.Sequence((e, e)), LETTERS))
    assert not terms.matches(term, b"ab" * 20)
    assert terms.size() <= 100_000


def test_repeats_of_one_item_are_merged() -> None:
    """Ranges that overlap or touch are one; a gap is kept."""
    terms = TermStore()
    ranges = [(5, 9), (0, 3), (4, 4), (12, 13), (20, None), (25, 30), (11, 11)]
    term = regular_term(terms, ir.Choice(tuple(ir.Repeat(LETTERS, *bounds) for bounds in ranges)))
    assert terms.dump(term) == "(([61-7a]){20,} | ([61-7a]){0,9} | ([61-7a]){11,13})"


@pytest.mark.parametrize("seed", range(60))
def test_languages_of_optional_sequences(seed: int) -> None:
    """Sequences of items that are mostly optional, against Python's re on all short strings."""
    rng = random.Random(seed)
    pieces = ["a?", "b?", "a*", "(?:ab)?", "(?:a|b)?", "a{0,2}", "(?:a?b?)?", "b{1,2}", "(?:a|)", "(?:ba|a)*"]
    chosen = [rng.choice(pieces) for _ in range(rng.randint(2, 7))]
    a, b = ir.Literal(b"a"), ir.Literal(b"b")
    forms: dict[str, ir.Expr] = {
        "a?": optional(a),
        "b?": optional(b),
        "a*": star(a),
        "(?:ab)?": optional(ir.Literal(b"ab")),
        "(?:a|b)?": optional(ir.Choice((a, b))),
        "a{0,2}": ir.Repeat(a, 0, 2),
        "(?:a?b?)?": optional(ir.Sequence((optional(a), optional(b)))),
        "b{1,2}": ir.Repeat(b, 1, 2),
        "(?:a|)": ir.Choice((a, EMPTY)),
        "(?:ba|a)*": star(ir.Choice((ir.Literal(b"ba"), a))),
    }
    terms = TermStore()
    term = regular_term(terms, ir.Sequence(tuple(forms[piece] for piece in chosen)))
    pattern = re.compile("".join(chosen))
    for length in range(8):
        for letters in itertools.product("ab", repeat=length):
            text = "".join(letters)
            assert terms.matches(term, text.encode()) == bool(pattern.fullmatch(text)), (chosen, text)
