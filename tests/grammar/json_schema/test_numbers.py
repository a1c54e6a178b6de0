"""Number sets and their spellings, against predicates on exact fractions and Python's json."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from support.json_schema_engine import recognizer

from stackmask.grammar import ir
from stackmask.grammar.json_schema.sets import numbers as n
from stackmask.grammar.json_schema.sets.numbers import NumberSet, UnsupportedNumber
from stackmask.grammar.json_schema.write.number_spellings import number_expr, number_spelling

Predicate = Callable[[Fraction], bool]
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
STEPS = ("1", "2", "3", "5", "7", "10", "12", "25", "0.5", "0.1", "0.01", "0.25", "1.5", "0.3", "1e-4", "100")
ENDS = (
    "0",
    "1",
    "-1",
    "0.5",
    "99.99",
    "100",
    "-12.5",
    "1000",
    "65535",
    "12.05",
    "-7",
    "1e7",
    "0.0001",
    "9.5",
)
NORMALISED = re.compile(r"-?[1-9](\.[0-9]+)?[eE](\+?0?[0-9]|\+?[1-9][0-9]+|-0?[0-9]|-[1-9][0-9]+)")


def random_set(rng: random.Random, depth: int) -> tuple[NumberSet, Predicate]:
    """Return a set and what it means."""
    kind = rng.randrange(4 if depth == 0 else 9)
    if kind == 0:
        step = Fraction(rng.choice(STEPS))
        return n.multiples_of(step), lambda v: (v / step).denominator == 1
    if kind in (1, 2):
        end, exclusive = Fraction(rng.choice(ENDS)), rng.random() < 0.5
        if kind == 1:
            return n.at_least(end, exclusive=exclusive), lambda v: v > end or (v == end and not exclusive)
        return n.at_most(end, exclusive=exclusive), lambda v: v < end or (v == end and not exclusive)
    if kind == 3:
        values = {Fraction(rng.choice(ENDS)) for _ in range(3)}
        return n.finite(values), lambda v: v in values
    left, in_left = random_set(rng, depth - 1)
    if kind == 8:
        return ~left, lambda v: not in_left(v)
    right, in_right = random_set(rng, depth - 1)
    if kind in (4, 5):
        return left & right, lambda v: in_left(v) and in_right(v)
    if kind == 6:
        return left | right, lambda v: in_left(v) or in_right(v)
    return left - right, lambda v: in_left(v) and not in_right(v)


def random_text(rng: random.Random) -> str:
    """Return a plain number, near the bounds and multiples more often than not."""
    kind = rng.randrange(4)
    if kind == 0:
        value = Fraction(rng.choice(ENDS))
    elif kind == 1:
        value = Fraction(rng.choice(STEPS)) * rng.randrange(-40, 2000)
    else:
        value = Fraction(rng.randrange(-(10 ** rng.randrange(1, 9)), 10 ** rng.randrange(1, 9)))
    if rng.random() < 0.4:
        value += rng.choice((1, -1)) * Fraction(rng.choice(STEPS)) / rng.choice((1, 1, 10))
    text = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    if rng.random() < 0.3:
        text += ("" if "." in text else ".") + "0" * rng.randrange(1, 4)
    if rng.random() < 0.1 and text[0] != "-":
        text = "-" + text
    return text


def is_in(contains: Predicate, text: str) -> bool:
    return JSON_NUMBER.fullmatch(text) is not None and contains(Fraction(text))


def spelled(numbers: NumberSet, **options: bool) -> Callable[[bytes | str], bool]:
    return recognizer(*number_spelling(numbers, "n", **options))


@pytest.mark.parametrize("seed", range(400))
def test_random_sets(seed):
    rng = random.Random(seed)
    numbers, contains = random_set(rng, rng.randrange(4))
    accepts = spelled(numbers)
    anything = False
    for _ in range(60):
        text = random_text(rng)
        value = Fraction(text)
        expected = contains(value)
        anything |= expected
        assert (value in numbers) == expected
        assert accepts(text) == expected, (text, numbers)
    assert not (anything and numbers.is_empty())
    if numbers.is_empty():
        assert numbers.count(0) == 0
    values = numbers.values(200)
    if values is not None:
        assert numbers.is_finite() and all(map(contains, map(Fraction, values)))
        assert values == sorted(set(values)) and numbers.count(200) == len(values)
        accepted = recognizer(number_expr(numbers))
        for value in values:
            assert accepted(format(Decimal(Fraction(value).numerator) / Fraction(value).denominator, "f"))


@pytest.mark.parametrize("seed", range(150))
def test_exponents_never_let_in_what_is_out(seed):
    rng = random.Random(seed)
    numbers, contains = random_set(rng, rng.randrange(3))
    accepts = spelled(numbers)
    for _ in range(60):
        mantissa = rng.choice(
            ("1", "2.5", "9.99", "0", "0.1", "12", "1.0", "1.00000001", "3.0000000000000001")
        )
        power = rng.choice((rng.randrange(-9, 12), rng.randrange(-330, 320)))
        text = f"{rng.choice(('', '-'))}{mantissa}{rng.choice('eE')}{rng.choice(('', '+')) if power >= 0 else ''}{power}"
        assert not accepts(text) or is_in(contains, text), (text, numbers)


@pytest.mark.parametrize(
    "numbers",
    [
        n.ALL_NUMBERS,
        n.at_least(0),
        n.at_least(0, exclusive=True),
        n.at_most(0),
        n.INTEGERS,
        n.INTEGERS & n.at_least(1),
        n.at_least(1),
        n.at_least(0) & n.at_most(1),
        n.at_most(100),
        n.at_least(-180) & n.at_most(180),
        n.multiples_of(0.01),
        n.finite([1e22, -1.5e-7, 3]),
        ~n.INTEGERS,
    ],
)
def test_what_serialisers_print_for_doubles(numbers):
    accepts = spelled(numbers)
    rng = random.Random(5)
    values = [1e22, -1.5e-7, 1e16, 1e-5, 1e-7, 5e-324, 1.7976931348623157e308, 123456789012345680000.0]
    values += [
        rng.choice((1, -1)) * round(rng.uniform(1, 10), rng.randrange(16)) * 10.0**e
        for e in range(-300, 300, 7)
    ]
    for value in values:
        texts = {json.dumps(value), f"{value:.15E}" if abs(value) > 1e22 else json.dumps(value)}
        shortest = format(Decimal(repr(value)).normalize(), "E")
        if not 1e-4 <= abs(value) < 1e16:
            texts |= {shortest, shortest.lower(), shortest.replace("E+", "e")}  # 1.5E+22, 1.5e+22, 1.5e22
        for text in texts:
            if numbers is ~n.INTEGERS or (numbers == ~n.INTEGERS and "e" in text.lower()):
                continue  # sets of that kind have plain spellings only
            expected = Fraction(text) in numbers
            assert accepts(text) == expected, (text, numbers)


def test_all_numbers_are_those_of_json():
    accepts = recognizer(number_expr(n.ALL_NUMBERS))
    positive = recognizer(number_expr(n.at_least(0, exclusive=True)))
    rng = random.Random(6)
    for _ in range(4000):
        text = "".join(rng.choices("0019.eE+--", k=rng.randrange(1, 8)))
        valid = JSON_NUMBER.fullmatch(text) is not None
        assert accepts(text) == valid, text
        assert positive(text) == (
            valid and text[0] != "-" and any(c in "123456789" for c in re.split("[eE]", text)[0])
        )


def test_integers_are_read_by_value():
    accepts = recognizer(number_expr(n.INTEGERS))
    for text in ("0", "-0", "1", "-12", "1.0", "1.000", "1e22", "1.5E10", "1.5e+10", "100", "-0.0"):
        assert accepts(text), text
    for text in ("01", "1.5", "1.", ".5", "+1", "1.05", "1e-7", "1.55555555e7", "--1", "", "-"):
        assert not accepts(text), text


def test_zero_at_the_end_of_a_piece():
    below = n.multiples_of(3) - n.multiples_of(15)
    accepts = spelled((below & n.at_most(0)) | (n.multiples_of(3) & n.at_least(0, exclusive=True)))
    assert (
        not accepts("0") and not accepts("-0.0") and accepts("15") and not accepts("-15") and accepts("-12")
    )


def test_draft_4_integers_have_no_fraction():
    for numbers in (
        n.INTEGERS,
        n.INTEGERS & n.at_least(3),
        n.multiples_of(4),
        n.multiples_of(3),
        n.finite([1, 2, 12]),
    ):
        accepts = spelled(numbers, zero_fractions=False)
        assert accepts("12") and not accepts("12.0") and not accepts("1.2e1") and not accepts("12.")
    assert recognizer(number_expr(n.finite([1, 2.5]), zero_fractions=False))("1.0")


@pytest.mark.parametrize(
    "step", [7, 11, 13, 37, 60, 77, 103, 256, 429, 86400, "2.125", "6.75", "9.5", "0.123"]
)
def test_multiples_of_all_sizes(step):
    exact = Fraction(str(step))
    accepts = spelled(n.multiples_of(exact) & n.at_least(100))
    rng = random.Random(7)
    for _ in range(100):
        value = exact * rng.randrange(10 ** rng.randrange(1, 15))
        other = value + Fraction(1, 1000) * rng.randrange(1, 5000)
        for number in (value, other):
            text = format(Decimal(number.numerator) / Decimal(number.denominator), "f")
            assert accepts(text) == (number >= 100 and (number / exact).denominator == 1), text


def test_bounds_of_hundreds_of_digits():
    limit = Decimal("1.7976931348623157e308")
    accepts = spelled(n.at_most(limit) & n.at_least(-limit))
    for text in (
        "0",
        "-1",
        "1e307",
        "-1.7976931348623157e308",
        "1" + "0" * 308,
        "17976931348623157" + "0" * 292,
    ):
        assert accepts(text), text
    for text in ("1" + "0" * 309, "2" + "0" * 308, "17976931348623157" + "0" * 292 + ".1", "1e309", "2e308"):
        assert not accepts(text), text


def test_emptiness_finiteness_and_counts():
    inside = n.at_least(0) & n.at_most(1)
    assert not inside.is_finite() and (inside & n.INTEGERS).values(9) == [0, 1]
    assert (n.INTEGERS & n.at_least(0, exclusive=True) & n.at_most(1, exclusive=True)).is_empty()
    assert (n.multiples_of(3) & n.at_least(1) & n.at_most(2)).is_empty()
    assert (n.multiples_of(0.5) & n.at_least(0) & n.at_most(3)).count(10) == 7
    assert (n.INTEGERS & n.at_least(1) & n.at_most(10**12)).count(1000) is None
    assert (n.INTEGERS & n.at_least(1) & n.at_most(10**12)).is_finite()
    odd = n.INTEGERS - n.multiples_of(2)
    assert not odd.is_empty() and (odd & n.at_least(2) & n.at_most(2)).is_empty()
    assert (odd & n.at_least(0) & n.at_most(10)).values(9) == [1, 3, 5, 7, 9]
    assert (n.multiples_of(2) & n.multiples_of(3)) == n.multiples_of(6)
    assert (n.INTEGERS | ~n.INTEGERS) == n.ALL_NUMBERS
    assert ~~(n.INTEGERS & n.at_least(5)) == n.INTEGERS & n.at_least(5)
    assert n.NO_NUMBERS.is_empty() and number_expr(n.NO_NUMBERS) == ir.NOTHING
    sixes = [n.multiples_of(p) for p in (2, 3, 5, 7, 11, 13)]
    rest = n.INTEGERS & n.at_least(2) & n.at_most(16)
    for multiples in sixes:
        rest = rest - multiples
    assert rest.is_empty() and (rest | n.finite([4])).values(3) == [4]


def test_what_is_no_number_and_what_is_too_much():
    for bad in (float("nan"), float("inf"), Decimal("NaN"), Fraction(1, 3)):
        with pytest.raises(ValueError):
            n.rational(bad)
    for bad in ("1", None, True, [1]):
        with pytest.raises(TypeError):
            n.rational(bad)
    for bad in (0, -1):
        with pytest.raises(ValueError):
            n.multiples_of(bad)
    with pytest.raises(UnsupportedNumber, match="exponent"):
        n.rational(Decimal("1e999999999"))
    with pytest.raises(UnsupportedNumber, match="digits"):
        n.at_least(10**1100)
    with pytest.raises(UnsupportedNumber, match="digits"):
        number_spelling(n.multiples_of(7) & n.at_most(10**70), "n")
    with pytest.raises(UnsupportedNumber, match="states"):
        number_spelling(n.multiples_of(Fraction("0.123456789")), "n")
    with pytest.raises(UnsupportedNumber, match="rules"):
        number_expr(n.multiples_of(7))


def test_sets_are_hashable_values():
    assert len({n.at_least(1), n.at_least(1), n.at_least(Fraction(1)), n.at_least(2)}) == 2
    assert n.INTEGERS & n.ALL_NUMBERS is n.INTEGERS
