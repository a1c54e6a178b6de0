"""A schema's constraints on null, booleans, numbers and strings: sets closed under meet, join and complement."""

from __future__ import annotations

from typing import Final, NamedTuple

from stackmask.grammar.json_schema.sets.numbers import ALL_NUMBERS, INTEGERS, NO_NUMBERS, NumberSet
from stackmask.grammar.json_schema.sets.string_sets import ALL, NONE, Texts
from stackmask.grammar.json_schema.sets.values import ANY


class Scalars(NamedTuple):
    """The allowed scalar values: null, true and false as bits of ``mask``, numbers, and strings.

    ``digits``: the numbers that may be written only as digits, if they differ from ``number``: in draft 4,
    `1.0` is not an integer. ``loose``: a superset of the schema's values, since part of the schema was
    relaxed; the complement is then unknown, and assumed to be everything.
    """

    mask: int
    number: NumberSet
    text: Texts
    digits: NumberSet | None = None
    loose: bool = False

    def meet(self, other: Scalars) -> Scalars:
        """Return the intersection."""
        if self is ALL_SCALARS or self is other:
            return other
        if other is ALL_SCALARS:
            return self
        digits = None
        if self.digits is not None or other.digits is not None:
            digits = _meet(self.written_as_digits(), other.written_as_digits())
        return Scalars(
            self.mask & other.mask,
            _meet(self.number, other.number),
            self.text.meet(other.text),
            digits,
            self.loose or other.loose,
        )

    def join(self, other: Scalars) -> Scalars:
        """Return the union."""
        digits = None
        if self.digits is not None or other.digits is not None:
            digits = _join(self.written_as_digits(), other.written_as_digits())
        return Scalars(
            self.mask | other.mask,
            _join(self.number, other.number),
            self.text.join(other.text),
            digits,
            self.loose or other.loose,
        )

    def complement(self) -> Scalars:
        """Return all other values."""
        if self.loose:
            return LOOSE
        return Scalars(
            ANY & ~self.mask,
            _complement(self.number),
            self.text.complement(),
            None if self.digits is None else _complement(self.digits),
        )

    def written_as_digits(self) -> NumberSet:
        """Return the numbers that may be written as digits, restricted to integers."""
        return self.number if self.digits is None else self.digits

    def has_numbers(self) -> bool:
        """Return whether any number is among the values."""
        if self.number is not NO_NUMBERS and not self.number.is_empty():
            return True
        return self.digits is not None and not (self.digits & INTEGERS).is_empty()


def _meet(a: NumberSet, b: NumberSet) -> NumberSet:
    if a is ALL_NUMBERS:
        return b
    return a if b is ALL_NUMBERS else a & b


def _join(a: NumberSet, b: NumberSet) -> NumberSet:
    if a is NO_NUMBERS:
        return b
    return a if b is NO_NUMBERS else a | b


def _complement(numbers: NumberSet) -> NumberSet:
    if numbers is ALL_NUMBERS:
        return NO_NUMBERS
    return ALL_NUMBERS if numbers is NO_NUMBERS else ~numbers


ALL_SCALARS: Final = Scalars(ANY, ALL_NUMBERS, ALL)
NO_SCALARS: Final = Scalars(0, NO_NUMBERS, NONE)
LOOSE: Final = Scalars(ANY, ALL_NUMBERS, ALL, None, True)
