"""Sets of numbers, as defined by `minimum`, `multipleOf`, `type: integer`, `enum` and their negations.

A :class:`NumberSet` is cut into pieces of the real line. On each piece the set is one *class*: a Boolean
combination of lattices (``multipleOf q`` is the lattice of the multiples of q, ``integer`` the lattice of 1).
The universe consists of JSON's numbers, which have finitely many decimals. All arithmetic is exact.

The spelling of the values is the subject of ``write.number_spellings``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isfinite, lcm
from typing import Final, TypeAlias

from stackmask.grammar.source.work import spend

Rational: TypeAlias = int | Fraction
"""A number with finitely many decimals. Whole numbers are always ints, which keeps arithmetic cheap."""

MAX_EXPONENT: Final = 500  # of a bound or multiple; its digits are written out
_MAX_BITS: Final = 1_750  # of a whole part or of the decimals, a little more than the exponent allows
MAX_TERMS: Final = 64  # alternatives in the class of a piece
MAX_EXCLUDED: Final = 8  # lattices that one alternative leaves out


class UnsupportedNumber(ValueError):
    """A set of numbers that cannot be spelled exactly within the limits; the message says why."""


def rational(value: object) -> Rational:
    """Return the exact value of a JSON number; a float means its shortest decimal text.

    Raises: UnsupportedNumber for an exponent beyond ``MAX_EXPONENT``; TypeError for other objects; ValueError
        for infinities, NaN, and fractions without a finite decimal expansion.
    """
    if type(value) is int:
        if value.bit_length() > _MAX_BITS:
            raise UnsupportedNumber(f"a number of more than {MAX_EXPONENT} digits")
        return value
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{value} is not a JSON number")
        exact: Rational = Fraction(float.__repr__(value))
    elif isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not a JSON number")
        if value and abs(value.adjusted()) > MAX_EXPONENT:
            raise UnsupportedNumber(f"{value} has an exponent beyond {MAX_EXPONENT}")
        exact = Fraction(value)
    elif isinstance(value, Fraction) or (isinstance(value, int) and not isinstance(value, bool)):
        exact = Fraction(value)
    else:
        raise TypeError(f"not a number: {value!r}")
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > 2 * _MAX_BITS:
        raise UnsupportedNumber(f"a number of more than {MAX_EXPONENT} digits")
    if exact.denominator == 1:
        return exact.numerator
    if pow(10, exact.denominator.bit_length(), exact.denominator):
        raise ValueError(f"{exact} has no finite decimal expansion")
    return exact


# -- classes: Boolean combinations of lattices -------------------------------------------------------------

Term: TypeAlias = tuple[Rational | None, frozenset[Rational]]
"""A lattice, or None for every number, with the lattices excluded from it, each a proper part of it."""

Class: TypeAlias = frozenset[Term]
"""The union of the terms. Equal sets need not be equal classes, but usually are."""

NONE: Final[Class] = frozenset()
ALL: Final[Class] = frozenset({(None, frozenset())})


def _shrink(value: Fraction) -> Rational:
    return value.numerator if value.denominator == 1 else value


def _common_multiples(a: Rational, b: Rational) -> Rational:
    """Return the least positive common multiple of two numbers."""
    if type(a) is int and type(b) is int:
        return lcm(a, b)
    x, y = Fraction(a), Fraction(b)
    return _shrink(
        Fraction(lcm(x.numerator * y.denominator, y.numerator * x.denominator), 1)
        / (x.denominator * y.denominator)
    )


def _is_multiple(a: Rational, b: Rational) -> bool:
    return not a % b


def _term(lattice: Rational | None, excluded: Iterable[Rational]) -> Term | None:
    """Return the term in normal form; None if it is empty."""
    parts = {q if lattice is None else _common_multiples(lattice, q) for q in excluded}
    if lattice in parts:
        return None
    least = frozenset(q for q in parts if not any(p != q and _is_multiple(q, p) for p in parts))
    if len(least) > MAX_EXCLUDED:
        raise UnsupportedNumber(f"more than {MAX_EXCLUDED} multiples are ruled out at once")
    return lattice, least


def _within(a: Term, b: Term) -> bool:
    """Return whether all of term a is in term b (sufficient, not necessary)."""
    if b[0] is not None and (a[0] is None or not _is_multiple(a[0], b[0])):
        return False
    return all(
        any(_is_multiple(q if a[0] is None else _common_multiples(a[0], q), p) for p in a[1]) for q in b[1]
    )


@lru_cache(4096)
def class_and(a: Class, b: Class) -> Class:
    """Return the intersection of two classes. Raises: UnsupportedNumber beyond ``MAX_TERMS``."""
    if a is b or b == ALL:
        return a
    if a == ALL:
        return b
    found: set[Term] = set()
    for lattice, excluded in a:
        for other, also_excluded in b:
            both = (
                other if lattice is None else lattice if other is None else _common_multiples(lattice, other)
            )
            term = _term(both, excluded | also_excluded)
            if term is not None:
                found.add(term)
    terms = frozenset(t for t in found if not any(t != u and _within(t, u) for u in found))
    if len(terms) > MAX_TERMS:
        raise UnsupportedNumber(f"more than {MAX_TERMS} combinations of multiples")
    return terms


@lru_cache(4096)
def class_not(a: Class) -> Class:
    """Return the complement of a class. Raises: UnsupportedNumber beyond ``MAX_TERMS``."""
    result = ALL
    for lattice, excluded in a:
        outside: set[Term] = {(q, frozenset()) for q in excluded}
        if lattice is not None:
            outside.add((None, frozenset((lattice,))))
        result = class_and(result, frozenset(outside))
    return result


def class_or(a: Class, b: Class) -> Class:
    """Return the union of two classes, by de Morgan's law, which also simplifies the union."""
    return class_not(class_and(class_not(a), class_not(b)))


def class_has(a: Class, value: Rational) -> bool:
    """Return whether a value is in a class."""
    return any(
        (lattice is None or _is_multiple(value, lattice))
        and not any(_is_multiple(value, q) for q in excluded)
        for lattice, excluded in a
    )


# -- pieces ------------------------------------------------------------------------------------------------

Cut: TypeAlias = tuple[int, Rational, int]
"""A place between numbers: (-1 | 0 | 1, value, side) for minus infinity, a number and plus infinity; side 0
is just before the value, 1 just after it. Cuts are ordered as on the line."""

BOTTOM: Final[Cut] = (-1, 0, 0)
TOP: Final[Cut] = (1, 0, 0)

Piece: TypeAlias = tuple[Cut, Cut, Class]
"""The numbers of a class, never NONE, between two cuts. A single number is ``((0, v, 0), (0, v, 1), ALL)``."""


def is_point(low: Cut, high: Cut) -> bool:
    """Return whether there is exactly one number between two cuts."""
    return low[0] == 0 == high[0] and low[1] == high[1]


def multiples_between(low: Cut, high: Cut, step: Rational) -> tuple[int | None, int | None]:
    """Return the first and last k with k·step between the cuts; None without a bound on that side."""
    first = last = None
    if low[0] == 0:
        exact = type(low[1]) is int and type(step) is int
        first = -(-low[1] // step) if exact else ceil(Fraction(low[1]) / step)
        if low[2] and first * step == low[1]:  # mutant: open-bound
            first += 1
    if high[0] == 0:
        exact = type(high[1]) is int and type(step) is int
        last = high[1] // step if exact else floor(Fraction(high[1]) / step)
        if not high[2] and last * step == high[1]:
            last -= 1
    return first, last


def _has_member(low: Cut, high: Cut, term: Term) -> bool:
    lattice, excluded = term
    if lattice is None:
        return not is_point(low, high) or class_has(frozenset((term,)), low[1])
    first, last = multiples_between(low, high, lattice)
    if first is None or last is None:
        return True
    # of 2**r consecutive integers one is divided by none of r primes (Kanold 1967)
    stop = min(last, first + 2 ** len(excluded))
    return any(not any(_is_multiple(k * lattice, q) for q in excluded) for k in range(first, stop + 1))


@dataclass(frozen=True, slots=True)
class NumberSet:
    """An immutable set of numbers, built from the constants and functions below by the operations here.

    ``pieces`` are sorted and disjoint, and neighbours differ in class.
    """

    pieces: tuple[Piece, ...]

    def __and__(self, other: NumberSet) -> NumberSet:
        """Return the intersection."""
        if self is other or other is ALL_NUMBERS:
            return self
        if self is ALL_NUMBERS:
            return other
        return _merge(self, other, class_and)

    def __or__(self, other: NumberSet) -> NumberSet:
        """Return the union."""
        return _merge(self, other, class_or)

    def __sub__(self, other: NumberSet) -> NumberSet:
        """Return the difference."""
        return _merge(self, other, lambda a, b: class_and(a, class_not(b)))

    def __invert__(self) -> NumberSet:
        """Return the complement."""
        return _merge(self, NO_NUMBERS, lambda a, b: class_not(a))

    def __contains__(self, value: object) -> bool:
        """Return whether a number (int, float, Decimal or Fraction) is in the set."""
        exact = rational(value)
        at = bisect_right(self.pieces, (0, exact, 0), key=lambda piece: piece[0]) - 1
        return at >= 0 and self.pieces[at][1] > (0, exact, 0) and class_has(self.pieces[at][2], exact)

    def is_empty(self) -> bool:
        """Return whether no number is in the set, exactly."""
        return not any(_has_member(low, high, term) for low, high, terms in self.pieces for term in terms)

    def is_finite(self) -> bool:
        """Return whether the set has finitely many members."""
        return not any(
            lattice is None or low[0] or high[0]
            for low, high, terms in self.pieces
            if not is_point(low, high)
            for lattice, _ in terms
            if _has_member(low, high, (lattice, _))
        )

    def values(self, limit: int) -> list[Rational] | None:
        """Return the members in order, or None if there are more than ``limit``."""
        found: set[Rational] = set()
        for low, high, terms in self.pieces:
            if is_point(low, high):
                if class_has(terms, low[1]):
                    found.add(low[1])
                continue
            for lattice, excluded in terms:
                if not _has_member(low, high, (lattice, excluded)):
                    continue
                if lattice is None:
                    return None
                first, last = multiples_between(low, high, lattice)
                if first is None or last is None or (last - first) >> len(excluded) > limit:
                    return None
                for k in range(first, last + 1):
                    value = k * lattice
                    if not any(_is_multiple(value, q) for q in excluded):
                        found.add(value if type(value) is int else _shrink(Fraction(value)))
                        if len(found) > limit:
                            return None
            if len(found) > limit:
                return None
        return sorted(found)

    def count(self, limit: int) -> int | None:
        """Return the number of members, or None if it is more than ``limit``."""
        values = self.values(limit)
        return None if values is None else len(values)


def _segments(pieces: tuple[Piece, ...]) -> Iterator[tuple[Cut, Class]]:
    """Yield the positions where the class changes, in ascending order."""
    at = BOTTOM
    for low, high, terms in pieces:
        if low > at:
            yield at, NONE
        yield low, terms
        at = high
    if at != TOP:
        yield at, NONE


def _merge(a: NumberSet, b: NumberSet, operation: Callable[[Class, Class], Class]) -> NumberSet:
    """Apply an operation to the classes of two sets along the line. Cost: linear in the pieces."""
    spend(4 + 6 * (len(a.pieces) + len(b.pieces)))
    left, right = list(_segments(a.pieces)), list(_segments(b.pieces))
    i = j = 0
    pieces: list[Piece] = []
    at = BOTTOM
    while True:
        next_left = left[i + 1][0] if i + 1 < len(left) else TOP
        next_right = right[j + 1][0] if j + 1 < len(right) else TOP
        end = min(next_left, next_right)
        terms = operation(left[i][1], right[j][1])
        if terms and is_point(at, end) and terms != ALL:
            terms = ALL if class_has(terms, at[1]) else NONE
        if terms:
            if pieces and pieces[-1][1] == at and pieces[-1][2] == terms:
                pieces[-1] = (pieces[-1][0], end, terms)
            else:
                pieces.append((at, end, terms))
        if end == TOP:
            return NumberSet(tuple(pieces))
        at = end
        if next_left == end:
            i += 1
        if next_right == end:
            j += 1


NO_NUMBERS: Final = NumberSet(())
ALL_NUMBERS: Final = NumberSet(((BOTTOM, TOP, ALL),))
INTEGERS: Final = NumberSet(((BOTTOM, TOP, frozenset({(1, frozenset())})),))


def multiples_of(value: object) -> NumberSet:
    """Return the multiples of a positive number. Raises: ValueError if it is not positive."""
    step = rational(value)
    if step <= 0:
        raise ValueError(f"multipleOf must be positive, not {value}")
    return INTEGERS if step == 1 else NumberSet(((BOTTOM, TOP, frozenset({(step, frozenset())})),))


def at_least(value: object, *, exclusive: bool = False) -> NumberSet:
    """Return the numbers from a value on, with or without the value itself."""
    return NumberSet((((0, rational(value), int(exclusive)), TOP, ALL),))


def at_most(value: object, *, exclusive: bool = False) -> NumberSet:
    """Return the numbers up to a value, with or without the value itself."""
    return NumberSet(((BOTTOM, (0, rational(value), int(not exclusive)), ALL),))


def finite(values: Iterable[object]) -> NumberSet:
    """Return the set of exactly these numbers."""
    exact = sorted({rational(value) for value in values})
    return NumberSet(tuple(((0, v, 0), (0, v, 1), ALL) for v in exact))
