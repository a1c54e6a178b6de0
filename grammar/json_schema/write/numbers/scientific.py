"""Spellings with an exponent, of the kind that serialisers print: ``1e+22``, ``1.5E10``, ``2.5e-07``.

Where every magnitude from zero on is allowed, every spelling of JSON is. Elsewhere a spelling is normalised:
one digit that is not 0, an optional fraction, an exponent between the limits below, with or without ``+`` and
with at most one leading zero. Exponents between the limits (as in ``5e2``) are left out there: no serialiser
prints them, and each would double what a mask has to know. Between bounds only whole decades have these
spellings, and bounds of numbers with any decimals. Where values keep to a number of decimals, the
mantissa has at most as many as the least exponent of its interval makes whole, or up to 16 with an exponent
that makes 16 whole.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.json_schema.write.numbers import decimals as d

# Java writes 1.0E7 and 1.0E-4, Python 1e+16 and 1e-05, JavaScript 1e+21 and 1e-7; doubles end at these
SMALL: Final = (-324, -4)
LARGE: Final = (7, 308)
MAX_DECIMALS: Final = (
    16  # of a mantissa whose value must keep to a number of decimals; doubles have 17 digits
)

_E: Final = ir.CharClass(((0x45, 0x45), (0x65, 0x65)))
_PLUS: Final = ir.Repeat(ir.Literal(b"+"), 0, 1)
_MINUS: Final = ir.Literal(b"-")


_SIGN: Final = ir.Repeat(ir.CharClass(((0x2B, 0x2B), (0x2D, 0x2D))), 0, 1)
_ANY_EXPONENT: Final = ir.Repeat(ir.Sequence((_E, _SIGN, ir.Repeat(d.DIGIT, 1, None))), 0, 1)

ANY_MAGNITUDE: Final = ir.Sequence(
    (ir.Choice((d.ZERO, ir.Sequence((d.NONZERO_DIGIT, d.DIGITS)))), d.fraction(None), _ANY_EXPONENT)
)
"""Every JSON number without its sign."""

_POSITIVE: Final = ir.Choice(
    (
        ir.Sequence((d.NONZERO_DIGIT, d.DIGITS, d.fraction(None))),
        ir.Sequence((d.ZERO, d.POINT, d.ZEROS, d.NONZERO_DIGIT, d.DIGITS)),
    )
)

POSITIVE_MAGNITUDE: Final = ir.Sequence((_POSITIVE, _ANY_EXPONENT))
"""Every JSON number that is not zero, without its sign."""


@lru_cache(1024)
def _exponent(low: int, high: int) -> ir.Expr:
    """Return ``e`` and the exponents from low to high, which have one sign."""
    if low < 0:
        return d.sequence(_E, _MINUS, _exponent_digits(-high, -low))
    return d.sequence(_E, _PLUS, _exponent_digits(low, high))


def _exponent_digits(low: int, high: int) -> ir.Expr:
    found: list[ir.Expr] = []
    if low < 10:
        found.append(d.sequence(ir.Repeat(d.ZERO, 0, 1), d.digit_class(low, min(high, 9))))
    if high >= 10:
        found.append(d.interval((max(low, 10), 0, True), (high, 0, True), 0, False))
    return d.choice(found)


PLAIN_POSITIVE: Final = ir.Sequence(
    (_POSITIVE, ir.Repeat(ir.Choice((_exponent(0, LARGE[1]), _exponent(SMALL[0], -1))), 0, 1))
)
"""The same with exponents as doubles have them, at most one leading zero in them: Python writes ``1e-07``."""

PLAIN_MAGNITUDE: Final = ir.Choice((PLAIN_POSITIVE, ir.Sequence((d.ZERO, d.fraction(0)))))
"""The same and zero, which has no exponent."""


@lru_cache(1024)
def scientific(low: d.Bound, high: d.Bound | None, decimals: int | None) -> tuple[ir.Expr, ...]:
    """Return the normalised spellings of the decades that lie in an interval as a whole, and of bounds.

    The arguments are those of ``decimals.interval``. A decade is what is between 10**n and 10**(n+1).
    """
    found: list[ir.Expr] = []
    for first, last in (SMALL, LARGE):
        start = first if decimals is None else max(first, -decimals)
        stop = last
        if low[0]:
            decade = _decade(low)
            if low[0] == 10 ** max(decade + low[1], 0) and low[2]:
                start = max(start, decade)
            else:
                start = max(start, decade + 1)  # mutant: whole-decade
                if low[2] and decimals is None and first <= decade <= last:
                    found.append(scientific_value(low[0], low[1]))
        if high is not None:
            decade = _decade(high)
            stop = min(stop, decade - 1)
            if high[2] and high[0] and decimals is None and first <= decade <= last:
                found.append(scientific_value(high[0], high[1]))
        if start <= stop:
            found += _whole_decades(start, stop, decimals)
    return tuple(found)


def _decade(bound: d.Bound) -> int:
    return len(str(bound[0])) - 1 - bound[1]


def scientific_value(digits: int, decimals: int) -> ir.Expr:
    """Return the normalised spellings of a positive number ``digits / 10**decimals``; NOTHING beyond the limits."""
    decade = len(str(digits)) - 1 - decimals
    if not any(first <= decade <= last for first, last in (SMALL, LARGE)):
        return ir.NOTHING
    text = str(digits).rstrip("0")
    mantissa: tuple[ir.Expr, ...] = (ir.Literal(text[0].encode()), d.fraction(0))
    if len(text) > 1:
        mantissa = (ir.Literal(f"{text[0]}.{text[1:]}".encode()), d.ZEROS)
    return d.sequence(*mantissa, _exponent(decade, decade))


@lru_cache(512)
def _whole_decades(first: int, last: int, decimals: int | None) -> tuple[ir.Expr, ...]:
    """Return the values between 10**first and 10**(last + 1)."""
    if decimals is None:
        return (d.sequence(d.NONZERO_DIGIT, d.fraction(None), _exponent(first, last)),)
    if first < 0:
        return tuple(
            d.sequence(d.NONZERO_DIGIT, d.fraction(e + decimals), _exponent(e, e))
            for e in range(first, last + 1)
        )
    few = min(first + decimals, MAX_DECIMALS)
    more = min(last + decimals, MAX_DECIMALS)
    found: list[ir.Expr] = [_exponent(first, last)]
    if few:
        found.append(d.sequence(d.POINT, d.repeat(d.DIGIT, 1, few), _exponent(first, last)))
    if more > few:
        exponent = _exponent(max(first, more - decimals), last)
        found.append(d.sequence(d.POINT, d.repeat(d.DIGIT, few + 1, more), exponent))
    return (d.sequence(d.NONZERO_DIGIT, d.choice(found)),)
