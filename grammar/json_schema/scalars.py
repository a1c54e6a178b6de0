"""What a schema says of null, booleans, numbers and strings: sets, closed under meet, join and complement."""

from __future__ import annotations

from typing import Final, NamedTuple

from stackmask.grammar.json_schema.numbers import ALL_NUMBERS, NO_NUMBERS, NumberSet
from stackmask.grammar.json_schema.texts import ALL, NONE, Texts
from stackmask.grammar.json_schema.values import ANY


class Scalars(NamedTuple):
    """What holds of null, true and false (bits of ``mask``), of numbers, and of strings.

    ``whole``: the numbers are integers of draft 4, which are written without a fraction.
    """

    mask: int
    number: NumberSet
    text: Texts
    whole: bool = False

    def meet(self, other: Scalars) -> Scalars:
        """Return the values of both."""
        number = self.number
        if number is ALL_NUMBERS:
            number = other.number
        elif other.number is not ALL_NUMBERS:
            number = number & other.number
        return Scalars(self.mask & other.mask, number, self.text.meet(other.text), self.whole or other.whole)

    def join(self, other: Scalars) -> Scalars:
        """Return the values of either."""
        if self.number is NO_NUMBERS:
            number, whole = other.number, other.whole
        elif other.number is NO_NUMBERS:
            number, whole = self.number, self.whole
        else:
            number, whole = self.number | other.number, self.whole and other.whole
        return Scalars(self.mask | other.mask, number, self.text.join(other.text), whole)

    def complement(self) -> Scalars:
        """Return all other values."""
        if self.number is ALL_NUMBERS:
            number = NO_NUMBERS
        else:
            number = ALL_NUMBERS if self.number is NO_NUMBERS else ~self.number
        return Scalars(ANY & ~self.mask, number, self.text.complement())


ALL_SCALARS: Final = Scalars(ANY, ALL_NUMBERS, ALL)
NO_SCALARS: Final = Scalars(0, NO_NUMBERS, NONE)
