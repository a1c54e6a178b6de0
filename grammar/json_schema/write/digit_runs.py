"""Runs of digits with an end: a model that repeats a digit must stop somewhere.

In rules of JSON values a digit that is no text stands for itself, and those of texts have escapes beside them. So a
repetition of a plain digit without a bound is one of a number.
"""

from __future__ import annotations

from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.write.numbers import decimals as d
from stackmask.grammar.json_schema.write.numbers.number_spellings import MULTIPLE_DIGITS

MAX_DIGITS: Final = 20  # in one run: floats as Python prints them have so many decimals

NARROWING: Final = (
    "Integers are digits alone: no -0, 6.0 or 1e2; where they have no bound, they have 64 bits. A run of digits has"
    f" at most {MAX_DIGITS} ({MAX_DIGITS - 1} more than it must have, where that is more), and {MULTIPLE_DIGITS}"
    " before the point where multiples of another number are asked for, if that takes few enough states; an exponent"
    " is from -324 to 308, with at most one leading zero, and 0 has none. Single values have no zeros after their"
    " decimals."
)
"""What plain numbers leave out besides what every grammar does, for reports."""


def bounded_run(expr: ir.Expr) -> ir.Expr | None:
    """Return a repetition of digits with a bound; None for anything else."""
    match expr:
        case ir.Repeat(ir.CharClass() | ir.Literal() as digit, low, None):
            if digit == d.DIGIT or digit == d.ZERO:
                return ir.Repeat(digit, low, low + MAX_DIGITS - 1)
    return None
