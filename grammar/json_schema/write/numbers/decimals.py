"""Plain decimal spellings of intervals: `minimum`, `maximum`, whole numbers, a bounded number of decimals.

The interval of magnitudes between two bounds is cut into boxes of digits, as many as the bounds have digits:
what lies between 120 and 65535 begins with ``[1-5]`` and four digits, or ``6[0-4]`` and three, and so on. The
boxes share no text, and a text has few of them to choose from at any point.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.ir.build import rebuild
from stackmask.grammar.json_schema.text.strings import choice

MAX_RUN: Final = (
    20  # digits of a run that a model is to write: floats as Python prints them have so many decimals
)

Bound: TypeAlias = tuple[int, int, bool]
"""A magnitude ``digits / 10**decimals`` that is not negative, and whether it belongs to the interval."""

DIGIT: Final = ir.CharClass(((0x30, 0x39),))
NONZERO_DIGIT: Final = ir.CharClass(((0x31, 0x39),))
ZERO: Final = ir.Literal(b"0")
POINT: Final = ir.Literal(b".")
DIGITS: Final = ir.Repeat(DIGIT, 0, None)
ZEROS: Final = ir.Repeat(ZERO, 0, None)


def repeat(item: ir.Expr, low: int, high: int | None) -> ir.Expr:
    """Return a repetition, without the wrapping that once or never needs."""
    if high == 0:
        return ir.EPSILON
    return item if low == high == 1 else ir.Repeat(item, low, high)


def sequence(*items: ir.Expr) -> ir.Expr:
    """Return the items one after the other, flat and without empty ones."""
    flat: list[ir.Expr] = []
    for item in items:
        if isinstance(item, ir.Sequence):
            flat.extend(item.items)
        elif item is not ir.EPSILON:
            flat.append(item)
    if len(flat) == 1:
        return flat[0]
    return ir.Sequence(tuple(flat)) if flat else ir.EPSILON


def ended(expr: ir.Expr, known: dict[int, ir.Expr] | None = None) -> ir.Expr:
    """Return spellings of numbers in which each run of digits has an end: a model that repeats a digit must stop.

    Cost: linear; recursion as deep as the expression, which has no more levels than a number has digits.
    """
    match expr:
        case ir.Repeat(ir.CharClass() | ir.Literal() as digit, low, None) if digit in (DIGIT, ZERO):
            return ir.Repeat(digit, low, low + MAX_RUN - 1)
        case ir.Complement():
            return expr
    known = {} if known is None else known
    found = known.get(id(expr))
    if found is None:
        parts = tuple([ended(part, known) for part in ir.children(expr)])
        found = known[id(expr)] = rebuild(expr, parts) if parts else expr
    return found


def digit_class(low: int, high: int) -> ir.Expr:
    """Return the digits from low to high."""
    if low == high:
        return ir.Literal(b"%d" % low)
    return ir.CharClass(((0x30 + low, 0x30 + high),))


@lru_cache(64)
def decimals_after(count: int | None) -> ir.Expr:
    """Return what may follow inside a fraction: ``count`` decimals at most that are not just zeros, None for any."""
    if count is None:
        return DIGITS
    if count == 0:
        return ZEROS
    # texts of at most `count` digits, or longer by zeros: no text is read in two ways
    return ir.Choice(
        (ir.Repeat(DIGIT, 0, count), ir.Sequence((repeat(DIGIT, count, count), ir.Repeat(ZERO, 1, None))))
    )


@lru_cache(64)
def fraction(count: int | None, zeros: bool = True) -> ir.Expr:
    """Return what may follow a whole part: nothing, or a point and decimals as in ``decimals_after``.

    ``zeros=False`` leaves out the fraction of a number without decimals, as draft 4 has it for integers.
    """
    if count is None:
        some: ir.Expr = ir.Sequence((POINT, ir.Repeat(DIGIT, 1, None)))
    elif count == 0:
        if not zeros:
            return ir.EPSILON
        some = ir.Sequence((POINT, ir.Repeat(ZERO, 1, None)))
    else:
        longer = ir.Sequence((repeat(DIGIT, count, count), ir.Repeat(ZERO, 1, None)))
        some = ir.Sequence((POINT, ir.Choice((repeat(DIGIT, 1, count), longer))))
    return ir.Repeat(some, 0, 1)


_NOT_ONLY_ZEROS: Final = ir.Sequence((ZEROS, NONZERO_DIGIT, DIGITS))


@lru_cache(1024)
def interval(low: Bound, high: Bound | None, decimals: int | None, zeros: bool = True) -> ir.Expr:
    """Return the plain spellings, without a sign, of the magnitudes in an interval.

    ``high=None``: no upper bound. ``decimals``: values have at most so many decimals; None for any number.
    ``zeros``: as in ``fraction``. Returns NOTHING for an empty interval. Cost: linear in the digits of the
    bounds for the boxes, quadratic for their texts.
    """
    if decimals is not None:
        scale = decimals
        low = (_first(low, scale), scale, True)
        if high is not None:
            high = (_last(high, scale), scale, True)
    elif high is not None:
        scale = max(low[1], high[1])
        low, high = _scaled(low, scale), _scaled(high, scale)
    else:
        scale = low[1]
    if high is not None and (low[0] > high[0] or (low[0] == high[0] and not (low[2] and high[2]))):
        return ir.NOTHING
    return _Boxes(scale, decimals, fraction(decimals, zeros)).between(low[0], low[2], high)


def _scaled(bound: Bound, scale: int) -> Bound:
    return bound[0] * 10 ** (scale - bound[1]), scale, bound[2]


def _first(bound: Bound, scale: int) -> int:
    """Return the least digits of this scale that the lower bound lets in."""
    shift = scale - bound[1]
    if shift >= 0:
        exact: int = bound[0] * 10**shift
        return exact if bound[2] else exact + 1
    unit: int = 10**-shift
    quotient, rest = divmod(bound[0], unit)
    return quotient + 1 if rest or not bound[2] else quotient


def _last(bound: Bound, scale: int) -> int:
    """Return the greatest digits of this scale that the upper bound lets in."""
    shift = scale - bound[1]
    if shift >= 0:
        exact: int = bound[0] * 10**shift
        return exact if bound[2] else exact - 1
    unit: int = 10**-shift
    quotient, rest = divmod(bound[0], unit)
    return quotient if rest or bound[2] else quotient - 1


class _Boxes:
    """Collects the boxes of one interval; digits are those of the value times 10**scale."""

    def __init__(self, scale: int, decimals: int | None, tail: ir.Expr) -> None:
        self.scale, self.decimals, self.tail = scale, decimals, tail
        self.whole: list[ir.Expr] = []  # whole parts, any fraction follows
        self.exact: list[ir.Expr] = []  # complete

    def between(self, low: int, low_closed: bool, high: Bound | None) -> ir.Expr:
        """Return the expression of the values from low to high."""
        scale = self.scale
        shortest = max(len(str(low)) - scale, 1)
        if high is None:
            self._from(low, low_closed, shortest)
        else:
            top, high_closed = high[0], high[2]
            longest = max(len(str(top)) - scale, 1)
            if longest == shortest:
                self._range(low, low_closed, top, high_closed, shortest)
            else:
                floor_of = 10 ** (longest - 1 + scale)
                self._below(low, low_closed, shortest, longest - 1)
                if top > floor_of or high_closed:
                    self._range(floor_of, True, top, high_closed, longest)
        if self.whole:
            self.exact.append(sequence(choice(self.whole), self.tail))
        return choice(self.exact) if self.exact else ir.NOTHING

    def _from(self, low: int, closed: bool, shortest: int) -> None:
        if low == 0 and closed:
            self.whole += [ZERO, ir.Sequence((NONZERO_DIGIT, DIGITS))]
        elif low == 10 ** (shortest - 1 + self.scale) and closed:
            self.whole.append(sequence(NONZERO_DIGIT, ir.Repeat(DIGIT, shortest - 1, None)))
        else:
            self._range(low, closed, None, False, shortest)
            self.whole.append(sequence(NONZERO_DIGIT, ir.Repeat(DIGIT, shortest, None)))

    def _below(self, low: int, closed: bool, shortest: int, longest: int) -> None:
        """Add the values from low on of up to ``longest`` whole digits."""
        if low == 0 and closed:
            self.whole += [ZERO, sequence(NONZERO_DIGIT, repeat(DIGIT, 0, longest - 1))]
        elif low == 10 ** (shortest - 1 + self.scale) and closed:
            self.whole.append(sequence(NONZERO_DIGIT, repeat(DIGIT, shortest - 1, longest - 1)))
        else:
            self._range(low, closed, None, False, shortest)
            if longest > shortest:
                self.whole.append(sequence(NONZERO_DIGIT, repeat(DIGIT, shortest, longest - 1)))

    def _range(self, low: int, low_closed: bool, high: int | None, high_closed: bool, whole: int) -> None:
        """Add the values from low to high, all of ``whole`` whole digits; high=None for the greatest of these."""
        size = whole + self.scale
        first = str(low).rjust(size, "0")
        if high is None:
            self._above(first, low_closed, 0, whole)
            return
        last = str(high).rjust(size, "0")
        if first == last:
            for end in range(max(whole, len(first.rstrip("0"))), size):
                self.exact.append(self._text(first[:end], whole))
            self._value(first, whole)
            return
        split = next(i for i in range(size) if first[i] != last[i])
        start, stop = int(first[split]) + 1, int(last[split]) - 1
        low_whole = low_closed and not first[split + 1 :].strip("0")
        high_whole = high_closed and self.decimals is not None and not last[split + 1 :].strip("9")
        if low_whole:
            start -= 1
        if high_whole:
            stop += 1
        if start <= stop:
            self._box(first[:split], start, stop, whole)
        # texts that end early, before the bounds part: they stand for the lower bound
        if low_closed:
            for end in range(max(whole, len(first.rstrip("0"))), split + 1):
                self.exact.append(self._text(first[:end], whole))
        if not low_whole:
            self._above(first, low_closed, split + 1, whole)
        if not high_whole:
            self._under(last, high_closed, split + 1, whole)

    def _above(self, first: str, closed: bool, position: int, whole: int) -> None:
        """Add what shares the digits of the lower bound up to the position, and is not below it."""
        trimmed = len(first.rstrip("0"))
        for at in range(position, len(first)):
            if closed and at >= trimmed:
                # only zeros are left of the bound: everything from here on is in
                self._rest(first[:at], whole)
                return
            if first[at] != "9":
                self._box(first[:at], int(first[at]) + 1, 9, whole)
        if closed:
            self._rest(first, whole)
        elif self.decimals is None:
            text = self._text(first, whole)
            self.exact.append(sequence(text, *(() if len(first) > whole else (POINT,)), _NOT_ONLY_ZEROS))

    def _under(self, last: str, closed: bool, position: int, whole: int) -> None:
        """Add what shares the digits of the upper bound up to the position, and is not above it."""
        trimmed = len(last.rstrip("0"))
        for at in range(position, len(last)):
            if at >= whole and (closed or at < trimmed):
                self.exact.append(self._text(last[:at], whole))
            if last[at] != "0":
                self._box(last[:at], 0, int(last[at]) - 1, whole)
        if closed:
            self._value(last, whole)

    def _text(self, digits: str, whole: int) -> ir.Expr:
        text = digits if len(digits) <= whole else f"{digits[:whole]}.{digits[whole:]}"
        return ir.Literal(text.encode()) if text else ir.EPSILON

    def _box(self, prefix: str, start: int, stop: int, whole: int) -> None:
        """Add prefix, one digit from start to stop, then anything."""
        at = len(prefix)
        digit = digit_class(start, stop)
        if at < whole:
            left = whole - at - 1
            self.whole.append(sequence(self._text(prefix, whole), digit, repeat(DIGIT, left, left)))
            return
        text = self._text(prefix, whole) if at > whole else ir.Literal(prefix.encode() + b".")
        self.exact.append(sequence(text, digit, self._after(at + 1 - whole)))

    def _rest(self, prefix: str, whole: int) -> None:
        """Add prefix, then anything."""
        at = len(prefix)
        if at <= whole:
            self.whole.append(sequence(self._text(prefix, whole), repeat(DIGIT, whole - at, whole - at)))
        else:
            self.exact.append(sequence(self._text(prefix, whole), self._after(at - whole)))

    def _value(self, digits: str, whole: int) -> None:
        """Add the value of all digits of a bound, with any zeros after it."""
        text = self._text(digits, whole)
        if len(digits) > whole:
            self.exact.append(sequence(text, ZEROS))
        elif self.decimals is not None:
            self.whole.append(text)
        else:
            self.exact.append(sequence(text, fraction(0)))

    def _after(self, used: int) -> ir.Expr:
        return decimals_after(None if self.decimals is None else self.decimals - used)


# -- exponents -------------------------------------------------------------------------------------------
#
# As serialisers print them: `1e+22`, `1.5E10`, `2.5e-07`. Where every magnitude from zero on is allowed, every spelling of
# JSON is. Elsewhere a spelling is normalised: one digit that is not 0, an optional fraction, an exponent between the
# limits below, with or without `+` and with at most one leading zero. Exponents between the limits (as in `5e2`) are left
# out there: no serialiser prints them, and each would double what a mask has to know. Between bounds only whole decades
# have these spellings, and bounds of numbers with any decimals. Where values keep to a number of decimals, the mantissa
# has at most as many as the least exponent of its interval makes whole, or up to 16 with an exponent that makes 16 whole.

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
_ANY_EXPONENT: Final = ir.Repeat(ir.Sequence((_E, _SIGN, ir.Repeat(DIGIT, 1, None))), 0, 1)

ANY_MAGNITUDE: Final = ir.Sequence(
    (ir.Choice((ZERO, ir.Sequence((NONZERO_DIGIT, DIGITS)))), fraction(None), _ANY_EXPONENT)
)
"""Every JSON number without its sign."""

_POSITIVE: Final = ir.Choice(
    (
        ir.Sequence((NONZERO_DIGIT, DIGITS, fraction(None))),
        ir.Sequence((ZERO, POINT, ZEROS, NONZERO_DIGIT, DIGITS)),
    )
)

POSITIVE_MAGNITUDE: Final = ir.Sequence((_POSITIVE, _ANY_EXPONENT))
"""Every JSON number that is not zero, without its sign."""


@lru_cache(1024)
def _exponent(low: int, high: int) -> ir.Expr:
    """Return ``e`` and the exponents from low to high, which have one sign."""
    if low < 0:
        return sequence(_E, _MINUS, _exponent_digits(-high, -low))
    return sequence(_E, _PLUS, _exponent_digits(low, high))


def _exponent_digits(low: int, high: int) -> ir.Expr:
    found: list[ir.Expr] = []
    if low < 10:
        found.append(sequence(ir.Repeat(ZERO, 0, 1), digit_class(low, min(high, 9))))
    if high >= 10:
        found.append(interval((max(low, 10), 0, True), (high, 0, True), 0, False))
    return choice(found)


PLAIN_POSITIVE: Final = ir.Sequence(
    (_POSITIVE, ir.Repeat(ir.Choice((_exponent(0, LARGE[1]), _exponent(SMALL[0], -1))), 0, 1))
)
"""The same with exponents as doubles have them, at most one leading zero in them: Python writes ``1e-07``."""

PLAIN_MAGNITUDE: Final = ir.Choice((PLAIN_POSITIVE, ir.Sequence((ZERO, fraction(0)))))
"""The same and zero, which has no exponent."""


@lru_cache(1024)
def scientific(low: Bound, high: Bound | None, decimals: int | None) -> tuple[ir.Expr, ...]:
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


def _decade(bound: Bound) -> int:
    return len(str(bound[0])) - 1 - bound[1]


def scientific_value(digits: int, decimals: int) -> ir.Expr:
    """Return the normalised spellings of a positive number ``digits / 10**decimals``; NOTHING beyond the limits."""
    decade = len(str(digits)) - 1 - decimals
    if not any(first <= decade <= last for first, last in (SMALL, LARGE)):
        return ir.NOTHING
    text = str(digits).rstrip("0")
    mantissa: tuple[ir.Expr, ...] = (ir.Literal(text[0].encode()), fraction(0))
    if len(text) > 1:
        mantissa = (ir.Literal(f"{text[0]}.{text[1:]}".encode()), ZEROS)
    return sequence(*mantissa, _exponent(decade, decade))


@lru_cache(512)
def _whole_decades(first: int, last: int, decimals: int | None) -> tuple[ir.Expr, ...]:
    """Return the values between 10**first and 10**(last + 1)."""
    if decimals is None:
        return (sequence(NONZERO_DIGIT, fraction(None), _exponent(first, last)),)
    if first < 0:
        return tuple(
            sequence(NONZERO_DIGIT, fraction(e + decimals), _exponent(e, e)) for e in range(first, last + 1)
        )
    few = min(first + decimals, MAX_DECIMALS)
    more = min(last + decimals, MAX_DECIMALS)
    found: list[ir.Expr] = [_exponent(first, last)]
    if few:
        found.append(sequence(POINT, repeat(DIGIT, 1, few), _exponent(first, last)))
    if more > few:
        exponent = _exponent(max(first, more - decimals), last)
        found.append(sequence(POINT, repeat(DIGIT, few + 1, more), exponent))
    return (sequence(NONZERO_DIGIT, choice(found)),)
