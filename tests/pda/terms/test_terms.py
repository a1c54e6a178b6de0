"""The term algebra: derivatives against Python's re on all short strings, byte classes, UTF-8 ranges."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from stackmask.grammar import ir
from stackmask.pda.lowering.entry import literal_set, regular_term
from stackmask.pda.terms.character_classes import byte_sequences
from stackmask.pda.terms.term_store import TermStore

ALPHABET = b"abc"


def accepts(terms: TermStore, term: int, data: bytes) -> bool:
    return bool(terms.matches(term, data))


def random_expr(rng: random.Random, depth: int) -> tuple[ir.Expr, str]:
    """Return a random regular expression as IR and as Python's re."""
    kind = rng.randrange(7 if depth else 2)
    if kind == 0:
        text = "".join(rng.choices("abc", k=rng.randint(0, 3)))
        return ir.Literal(text.encode()), f"(?:{text})"
    if kind == 1:
        chars = sorted(rng.sample("abc", rng.randint(1, 3)))
        return ir.CharClass(tuple((ord(c), ord(c)) for c in chars)), f"[{''.join(chars)}]"
    if kind in (2, 3):
        parts = [random_expr(rng, depth - 1) for _ in range(rng.randint(1, 3))]
        return ir.Sequence(tuple(e for e, _ in parts)), "(?:" + "".join(r for _, r in parts) + ")"
    if kind == 4:
        parts = [random_expr(rng, depth - 1) for _ in range(rng.randint(1, 4))]
        return ir.Choice(tuple(e for e, _ in parts)), "(?:" + "|".join(r for _, r in parts) + ")"
    low = rng.randint(0, 3)
    high = rng.choice([None, low, low + rng.randint(1, 3)])
    item, pattern = random_expr(rng, depth - 1)
    return ir.Repeat(item, low, high), f"(?:{pattern}){{{low},{'' if high is None else high}}}"


@pytest.mark.parametrize("seed", range(150))
def test_derivatives_agree_with_re(seed: int) -> None:
    rng = random.Random(seed)
    left, left_re = random_expr(rng, 3)
    right, right_re = random_expr(rng, 3)
    terms = TermStore()
    plain = regular_term(terms, left)
    both = regular_term(terms, ir.Intersection((left, right)))
    without = regular_term(terms, ir.Intersection((left, ir.Complement(right))))
    one, two = re.compile(left_re), re.compile(right_re)
    in_both = in_without = False
    for length in range(7):
        for letters in itertools.product("abc", repeat=length):
            text = "".join(letters)
            data = text.encode()
            a, b = bool(one.fullmatch(text)), bool(two.fullmatch(text))
            assert accepts(terms, plain, data) == a, (left_re, text)
            assert accepts(terms, both, data) == (a and b), (left_re, right_re, text)
            assert accepts(terms, without, data) == (a and not b), (left_re, right_re, text)
            in_both |= a and b
            in_without |= a and not b
    # emptiness is decided, not guessed: what has a short string is alive
    assert terms.alive(both) or not in_both
    assert terms.alive(without) or not in_without


def test_emptiness_is_exact() -> None:
    terms = TermStore()
    a_plus = ir.Repeat(ir.Literal(b"a"), 1, None)
    even = ir.Repeat(ir.Literal(b"aa"), 1, None)
    odd = ir.Sequence((ir.Literal(b"a"), ir.Repeat(ir.Literal(b"aa"), 0, None)))
    cases = {
        (even, odd): False,
        (a_plus, odd): True,
        (a_plus, ir.Complement(even), ir.Complement(odd)): False,
        (ir.ANY_TEXT, ir.Complement(ir.ANY_TEXT)): False,
        (ir.Complement(a_plus), a_plus): False,
        (ir.Repeat(ir.ANY_CHAR, 3, 5), ir.Repeat(ir.Literal("é".encode()), 0, None)): True,
    }
    made = {regular_term(terms, ir.Intersection(items)): alive for items, alive in cases.items()}
    for term, alive in made.items():
        assert terms.alive(term) == alive, terms.dump(term)


@pytest.mark.parametrize("seed", range(60))
def test_operands_that_exclude_each_other_leave_nothing(seed: int) -> None:
    rng = random.Random(seed)
    (left, left_re), (right, right_re) = random_expr(rng, 2), random_expr(rng, 2)
    terms = TermStore()
    nothing = regular_term(terms, ir.NOTHING)
    for others in (left, ir.Choice((left, right)), ir.Intersection((left, right))):
        given = (left, right) if isinstance(others, ir.Intersection) else (left,)
        term = regular_term(terms, ir.Intersection((*given, ir.Complement(others))))
        assert not terms.alive(term)
        assert others is not left or term == nothing  # without a search
    rest = regular_term(terms, ir.Intersection((left, ir.Complement(ir.Intersection((left, right))))))
    other = regular_term(terms, ir.Intersection((left, ir.Complement(ir.Choice((right, ir.Literal(b"c")))))))
    for length in range(6):
        for letters in itertools.product("abc", repeat=length):
            text = "".join(letters)
            data = text.encode()
            a, b = bool(re.fullmatch(left_re, text)), bool(re.fullmatch(right_re, text))
            assert accepts(terms, rest, data) == (a and not b), (left_re, right_re, text)
            assert accepts(terms, other, data) == (a and not b and text != "c"), (left_re, right_re, text)


def test_counters_do_not_grow_the_state() -> None:
    terms = TermStore()
    term = regular_term(terms, ir.Repeat(ir.Choice((ir.Literal(b"a"), ir.Literal(b"aa"))), 0, 32767))
    assert terms.matches(term, b"a" * 5000)
    assert terms.counts()["terms"] < 60_000


def test_literal_set_is_exactly_the_words() -> None:
    rng = random.Random(3)
    for _ in range(60):
        words = {bytes(rng.choices(ALPHABET, k=rng.randint(0, 6))) for _ in range(rng.randint(1, 40))}
        terms = TermStore()
        term = literal_set(terms, list(words))
        for length in range(7):
            for letters in itertools.product(ALPHABET, repeat=length):
                assert terms.matches(term, bytes(letters)) == (bytes(letters) in words)


def test_byte_sequences_cover_every_code_point_once() -> None:
    for low, high in [(0, 0x10FFFF), (0x7F, 0x80), (0x7FF, 0x800), (0xFFFF, 0x10000), (0x3B1, 0x20AC)]:
        ranges = (
            [(low, min(high, 0xD7FF)), (max(low, 0xE000), high)] if low < 0xD800 <= high else [(low, high)]
        )
        count = 0
        for start, end in ranges:
            for sequence in byte_sequences(start, end):
                size = 1
                for first, last in sequence:
                    size *= last - first + 1
                count += size
                bytes(first for first, _ in sequence).decode()
                bytes(last for _, last in sequence).decode()
        assert count == sum(end - start + 1 for start, end in ranges)


def test_repetitions_are_joined_only_where_no_count_lies_between() -> None:
    def counts(ranges: list[tuple[int, int | None]]) -> set[int]:
        terms = TermStore()
        choice = ir.Choice(tuple(ir.Repeat(ir.Literal(b"ab"), low, high) for low, high in ranges))
        term = regular_term(terms, ir.Sequence((ir.Literal(b"x"), choice)))
        return {n for n in range(12) if terms.matches(term, b"x" + b"ab" * n)}

    assert counts([(0, 1), (3, 4)]) == {0, 1, 3, 4}
    assert counts([(1, 2), (3, 4)]) == {1, 2, 3, 4}
    assert counts([(5, 6), (0, 1), (2, 3)]) == {0, 1, 2, 3, 5, 6}
    assert counts([(2, 3), (7, None)]) == {2, 3, *range(7, 12)}
    assert counts([(4, None), (2, 6)]) == set(range(2, 12))
