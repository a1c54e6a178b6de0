"""From sets of numbers to expressions: plain spellings digit by digit, spellings with an exponent, and signs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache, partial
from math import lcm
from typing import Final, NamedTuple, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.ir.build import rebuild, repeat
from stackmask.grammar.json_schema.sets.numbers import (
    ALL,
    TOP,
    Class,
    Cut,
    NumberSet,
    Piece,
    Rational,
    UnsupportedNumber,
    class_has,
    is_point,
    multiples_between,
)
from stackmask.grammar.json_schema.text.strings import choice
from stackmask.grammar.languages.automaton import explored
from stackmask.grammar.languages.classes import TooLarge, one_of
from stackmask.grammar.languages.forms import concat
from stackmask.grammar.source.work import spend

# digits of a run that a model is to write: floats as Python prints them have so many decimals
MAX_RUN: Final = 20
MULTIPLE_DIGITS: Final = 18  # before the point of plain multiples: all of these have 64 bits
# of remainders that are told apart for each number of digits then: it costs much work
ENDED_STATES: Final = 24
LISTED_VALUES: Final = 300  # sets with multiples and no more values than this are written out as a list

# Java writes 1.0E7 and 1.0E-4, Python 1e+16 and 1e-05, JavaScript 1e+21 and 1e-7; doubles end at these
SMALL: Final = (-324, -4)
LARGE: Final = (7, 308)
# of a mantissa whose value must keep to a number of decimals; doubles have 17 digits
MAX_DECIMALS: Final = 16

Bound: TypeAlias = tuple[int, int, bool]
"""A non-negative magnitude ``digits / 10**decimals``, with a flag for whether it belongs to the interval."""

DIGIT: Final = ir.CharClass(((0x30, 0x39),))
NONZERO_DIGIT: Final = ir.CharClass(((0x31, 0x39),))
ZERO: Final = ir.Literal(b"0")
POINT: Final = ir.Literal(b".")
DIGITS: Final = ir.Repeat(DIGIT, 0, None)
ZEROS: Final = ir.Repeat(ZERO, 0, None)
_FIRST_DIGITS: Final = ir.Repeat(DIGIT, 1, None)
_FIRST_ZEROS: Final = ir.Repeat(ZERO, 1, None)

_LEAST_LARGE: Final = 10 ** LARGE[0]
_LEAST_PLAIN: Final = Fraction(1, 10 ** (-SMALL[1] - 1))
_MINUS: Final = ir.Literal(b"-")
_WHOLE: Final[Class] = frozenset({(1, frozenset())})
_ZERO_CUT: Final[Cut] = (0, 0, 0)
_AFTER_ZERO: Final[Cut] = (0, 0, 1)
_LEAST_OF_64_BITS: Final[Cut] = (0, -(2**63), 0)
_MOST_OF_64_BITS: Final[Cut] = (0, 2**63 - 1, 1)


Spelled: TypeAlias = tuple[ir.Expr, dict[str, ir.Expr]]
"""An expression, with the rules to which it refers by name; not to be modified."""


def number_expr(numbers: NumberSet, *, zero_fractions: bool = True, plain: bool = False) -> ir.Expr:
    """Return the spellings of the members as one expression without references.

    ``zero_fractions=False``: no member is written with a point or an exponent if all are whole, as in draft
    4. ``plain``: integers are only digits, 0 has no sign, unbounded integers have 64 bits, and listed values
    with decimals have no trailing zeros.
    Raises: UnsupportedNumber if this requires rules: multiples of a number with a factor other than 2 and 5,
        without bounds, or with more than a few thousand pieces.
    Cost: 10–100 µs for bounds and decimals, milliseconds for other multiples; cached.
    """
    return _write_alone(numbers.pieces, zero_fractions, plain)


def number_spelling(
    numbers: NumberSet, prefix: str, *, zero_fractions: bool = True, plain: bool = False
) -> Spelled:
    """Return the spellings of the members as an expression, with the rules to which it refers.

    The rules' names begin with ``prefix`` and a dot; the caller must use a unique prefix for each set. Most
    sets need no rules. Rules are right-linear and regular but recursive, so the expression must not be an
    operand of `&` or `!`: use the operations of ``NumberSet`` instead.
    Raises: UnsupportedNumber if the multiples need too many states. Cost: as for ``number_expr``.
    """
    if not _needs_digits(numbers.pieces):
        return _write_alone(numbers.pieces, zero_fractions, plain), {}
    return _write_with_rules(numbers.pieces, zero_fractions, plain, prefix)


@lru_cache(1024)
def _needs_digits(pieces: tuple[Piece, ...]) -> bool:
    return any(terms != ALL and _decimals_of(terms) is None for _, _, terms in pieces)


@lru_cache(1024)
def _write_alone(pieces: tuple[Piece, ...], zeros: bool, plain: bool) -> ir.Expr:
    found = _write(pieces, zeros, plain, None)[0]
    return ended(found) if plain else found


@lru_cache(32)  # these can be large
def _write_with_rules(pieces: tuple[Piece, ...], zeros: bool, plain: bool, prefix: str) -> Spelled:
    expr, rules = _write(pieces, zeros, plain, prefix)
    if plain:
        expr, rules = ended(expr), {name: ended(rule) for name, rule in rules.items()}
    return expr, rules


def _write(pieces: tuple[Piece, ...], zeros: bool, plain: bool, prefix: str | None) -> Spelled:
    zeros = zeros or not all(map(_is_whole, pieces))
    if plain:
        pieces = tuple(map(_of_64_bits, pieces))
    positive = _from_zero(pieces, False)
    mirrored = tuple((_mirror(high), _mirror(low), terms) for low, high, terms in reversed(pieces))
    negative = _from_zero(mirrored, plain)
    rules: dict[str, ir.Expr] = {}
    if positive == negative:
        items = _magnitudes(positive, zeros, plain, prefix and f"{prefix}.d", rules)
        if not items:
            return ir.NOTHING, {}
        return concat((ir.Repeat(_MINUS, 0, 1), choice(items))), rules
    items = _magnitudes(positive, zeros, plain, prefix and f"{prefix}.p", rules)
    below = _magnitudes(negative, zeros, plain, prefix and f"{prefix}.n", rules)
    if below:
        items.append(concat((_MINUS, choice(below))))
    return (choice(items) if items else ir.NOTHING), rules


def _is_whole(piece: Piece) -> bool:
    """Return whether the piece contains only whole numbers."""
    low, high, terms = piece
    if is_point(low, high):
        return type(low[1]) is int
    return all(type(lattice) is int for lattice, _ in terms)


def _of_64_bits(piece: Piece) -> Piece:
    """Return the 64-bit integers of an unbounded piece. One with a bound beyond half of these is unchanged."""
    low, high, terms = piece
    if _decimals_of(terms) != 0:
        return piece
    if low[0] and 2 * high[1] > _LEAST_OF_64_BITS[1]:
        low = _LEAST_OF_64_BITS
    if high[0] and 2 * low[1] < _MOST_OF_64_BITS[1]:
        high = _MOST_OF_64_BITS
    return low, high, terms


def _mirror(cut: Cut) -> Cut:
    return (0, -cut[1], 1 - cut[2]) if cut[0] == 0 else (-cut[0], 0, 0)


def _from_zero(pieces: tuple[Piece, ...], unsigned: bool) -> tuple[Piece, ...]:
    """Return the non-negative part of the pieces; ``unsigned`` excludes 0 from whole numbers."""
    found = []
    for piece in pieces:
        low, high, terms = piece
        least = _AFTER_ZERO if unsigned and _is_whole(piece) else _ZERO_CUT
        if high > least:
            found.append((max(low, least), high, terms))
    return tuple(found)


def _decimals_of(terms: Class) -> int | None:
    """Return n if the class contains exactly the multiples of 10**-n, else None."""
    if len(terms) != 1:
        return None
    [(step, excluded)] = terms
    if step is None or excluded:
        return None
    if step == 1:
        return 0
    if type(step) is Fraction and step.numerator == 1:
        places = _places(step)
        return places if step.denominator == 10**places else None
    return None


def _places(value: Rational) -> int:
    """Return the number of decimals of a value."""
    rest = value.denominator
    if rest == 1:
        return 0
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    fives = 0
    while rest > 1:
        rest //= 5
        fives += 1
    return max(twos, fives)


def _bound(cut: Cut, closed_side: int) -> Bound:
    places = _places(cut[1])
    return int(cut[1] * 10**places), places, cut[2] == closed_side


def _magnitudes(
    pieces: tuple[Piece, ...], zeros: bool, plain: bool, prefix: str | None, rules: dict[str, ir.Expr]
) -> list[ir.Expr]:
    """Return alternatives of magnitudes for pieces from zero on."""
    found: list[ir.Expr] = []
    values: list[Rational] = []
    others: dict[bool, list[Piece]] = {}  # by whether a fraction may follow
    for piece in pieces:
        low, high, terms = piece
        fractions = zeros and not (plain and _is_whole(piece))
        if is_point(low, high):
            if class_has(terms, low[1]):  # where a piece is cut at zero it may be of any class
                values.append(low[1])
        elif terms == ALL and high == TOP and low == _ZERO_CUT:
            found.append(PLAIN_MAGNITUDE if plain else ANY_MAGNITUDE)
        elif terms == ALL and high == TOP and low == _AFTER_ZERO:
            found.append(PLAIN_POSITIVE if plain else POSITIVE_MAGNITUDE)
        elif terms == ALL or (places := _decimals_of(terms)) is not None:
            written = _interval(piece, fractions)
            if written != ir.NOTHING:
                found.append(written)
            if fractions:
                start, stop = _bound(low, 0), None if high == TOP else _bound(high, 1)
                found += scientific(start, stop, None if terms == ALL else places)
        elif (few := NumberSet((piece,)).values(LISTED_VALUES)) is not None:
            values += few
        else:
            others.setdefault(fractions, []).append(piece)
    if values:
        found += _listed(values, zeros, plain)
    for number, (fractions, unlisted) in enumerate(others.items()):
        digits = _digits_of(tuple(unlisted), fractions)
        if plain and (len(digits.states) <= ENDED_STATES or not digits.is_endless()):
            digits = _with_an_end(tuple(unlisted), fractions) or digits
        written, more = _Writer(digits, f"{prefix}w" if prefix and number else prefix).write()
        if written != ir.NOTHING:
            found.append(written)
        rules.update(more)
    return found


def _listed(values: list[Rational], zeros: bool, plain: bool) -> list[ir.Expr]:
    """Return the spellings of listed values: whole ones, those with an exponent, those with decimals."""
    whole: list[ir.Expr] = [ir.Literal(b"%d" % value) for value in values if type(value) is int]
    found = [concat((choice(whole), fraction(0, zeros and not plain)))] if whole else []
    decimal: list[ir.Expr] = []
    for value in values:
        places = _places(value)
        digits = int(value * 10**places)
        is_whole = type(value) is int
        if zeros and value and (value >= _LEAST_LARGE or value < _LEAST_PLAIN) and not (plain and is_whole):
            power = scientific_value(digits, places)
            if power != ir.NOTHING:
                found.append(power)
        if not is_whole:
            text = str(digits).rjust(places + 1, "0")
            decimal.append(ir.Literal(f"{text[:-places]}.{text[-places:]}".encode()))
    if decimal:
        found.append(concat((choice(decimal), ir.EPSILON if plain else ZEROS)))
    return found


@lru_cache(1024)
def _interval(piece: Piece, zeros: bool) -> ir.Expr:
    """Return the plain spellings of a piece of numbers with any decimals, or with a given number of them."""
    return _Writer(_digits_of((piece,), zeros), None).write()[0]


def _with_an_end(pieces: tuple[Piece, ...], zeros: bool) -> Digits | None:
    """Return the digits of the numbers, with a bounded length where the pieces are unbounded.

    Returns None if the result is empty, or needs too many states.
    """
    end: Cut = (0, 10**MULTIPLE_DIGITS, 0)
    inside = tuple((low, end if high == TOP else high, terms) for low, high, terms in pieces)
    if any(low >= high or NumberSet(((low, high, terms),)).is_empty() for low, high, terms in inside):
        return None
    try:
        return _digits_of(inside, zeros)
    except UnsupportedNumber:
        return None


@lru_cache(32)
def _digits_of(pieces: tuple[Piece, ...], zeros: bool) -> Digits:
    """Return the digits of pieces, after scaling the pieces to whole units."""
    if len(pieces) == 1 and _decimals_of(pieces[0][2]) is not None:  # the bounds, in units of the decimals
        low, high, terms = pieces[0]
        ((step, _),) = terms
        assert step is not None
        first, last = multiples_between(low, high, step)
        assert first is not None
        pieces = (((0, first * step, 0), high if last is None else (0, (last + 1) * step, 0), terms),)
    steps = sorted(
        {q for _, _, terms in pieces for lattice, excluded in terms for q in (*excluded, lattice) if q}
    )
    ends = [cut[1] for low, high, _ in pieces for cut in (low, high) if cut[0] == 0]
    scale = max(map(_places, [*steps, *ends]))
    unit = 10**scale
    index = {step: i for i, step in enumerate(steps)}

    def scaled_class(terms: Class) -> ScaledClass:
        return frozenset(
            (None if lattice is None else index[lattice], frozenset(index[q] for q in excluded))
            for lattice, excluded in terms
        )

    def position(cut: Cut) -> int | None:
        return None if cut == TOP else 2 * int(cut[1] * unit) + cut[2]

    return Digits(
        tuple((position(low) or 0, position(high), scaled_class(terms)) for low, high, terms in pieces),
        tuple(int(step * unit) for step in steps),
        scale,
        fractions=zeros,
    )


NARROWING: Final = (
    "Every value has all its plain spellings (-0 is 0, zeros may follow the decimals). Spellings with an exponent:"
    " all of JSON's where every number, every one from 0 on or every one beyond 0 is allowed. Elsewhere one digit"
    " that is not 0, an optional fraction and an exponent from -324 to -4 or from 7 to 308, with or without +,"
    " with at most one leading zero; between bounds only in decades that are allowed as a whole, and for single"
    " values and the bounds of numbers with any decimals; where whole numbers or multiples of 0.1, 0.01, … are"
    " required, with as many decimals in the mantissa as any of the exponents makes exact, 16 at most if the"
    " exponent makes 16 exact; no exponents with other multiples, and none for 0."
)
"""The spellings of numbers that grammars exclude, for reports. (Bounds: ``SMALL``, ``LARGE``.)"""

PLAIN_NARROWING: Final = (
    "Integers are digits alone: no -0, 6.0 or 1e2; where they have no bound, they have 64 bits. A run of digits has"
    f" at most {MAX_RUN} ({MAX_RUN - 1} more than it must have, where that is more), and {MULTIPLE_DIGITS}"
    " before the point where multiples of another number are required, if that takes few enough states; an exponent"
    " is from -324 to 308, with at most one leading zero, and 0 has none. Single values have no zeros after their"
    " decimals."
)
"""The further spellings that plain numbers exclude, for reports."""


def ended(expr: ir.Expr, known: dict[int, ir.Expr] | None = None) -> ir.Expr:
    """Return spellings of numbers in which each run of digits is bounded, so that a model cannot go on
    forever.

    Cost: linear. Recursion is as deep as the expression, at most one level for each digit of a number.
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


# -- decimals --------------------------------------------------------------------------------------------


def decimals_after(count: int | None, first: bool = False) -> ir.Expr:
    """Return the possible continuations inside a fraction: at most ``count`` decimals before zeros, any
    number for None.

    ``first``: at least one is required.
    """
    if count is None:
        return _FIRST_DIGITS if first else DIGITS
    if count == 0:
        return _FIRST_ZEROS if first else ZEROS
    # texts of at most `count` digits, or longer by zeros: no text is read in two ways
    longer = concat((repeat(DIGIT, count, count), _FIRST_ZEROS))
    return ir.Choice((repeat(DIGIT, int(first), count), longer))


@lru_cache(64)
def fraction(count: int | None, zeros: bool = True) -> ir.Expr:
    """Return the continuations of a whole part: nothing, or a point and decimals as in ``decimals_after``.

    ``zeros=False`` omits the fraction of a number without decimals, as in draft 4 for integers.
    """
    if count == 0 and not zeros:
        return ir.EPSILON
    return ir.Repeat(ir.Sequence((POINT, decimals_after(count, True))), 0, 1)


# -- digits ----------------------------------------------------------------------------------------------
#
# A set is read digit by digit: a state is what remains possible after a prefix (a *residual*), scaled to whole numbers.
# Of bounds and decimals few digits matter, and what is left then is written at once. A multiple of 7 or of 0.25 needs to know
# the digits before it. Before the point it is not known how many digits follow, so a state there holds a residual for each
# length. Beyond the last bound only the multiples count: those of 2 and 5 look at the last digits alone, the
# others need remainders, whose states call each other and so become rules.

MAX_STATES: Final = 5_000
MAX_LENGTH: Final = 60  # digits before the point of a bound on multiples that need remainders
MAX_PARTS: Final = 20_000  # of an expression without rules
MAX_DEPTH: Final = 40  # states nested in one expression
MAX_FLAT: Final = 16  # alternatives of a state that are written into the one before it
SHARED_PARTS: Final = 12  # an expression of so many parts that is used twice becomes a rule

ScaledTerm: TypeAlias = tuple[int | None, frozenset[int]]
ScaledClass: TypeAlias = frozenset[ScaledTerm]
"""A class whose lattices consist of whole multiples of the unit; a lattice is its index in ``steps``."""

ScaledPiece: TypeAlias = tuple[int, int | None, ScaledClass]
"""A class between two positions (2v is before the value v, 2v + 1 after it), the second None if unbounded."""

Residual: TypeAlias = tuple[tuple[ScaledPiece, ...], tuple[int, ...]]
"""The remaining pieces, and the least remaining member of each lattice (-1 if there is none, or it has no
effect).
"""


class BeforePoint(NamedTuple):
    """The state before the point: residuals for 0, 1, … more digits, and the remainder for longer numbers, if any."""

    finite: tuple[Residual, ...]
    remainder: int | None


class Last(NamedTuple):
    """The state that reads a given number of digits, the last ones before the point."""

    left: int
    residual: Residual


class Decimals(NamedTuple):
    """The state after the point; ``first``: no decimal has been read yet."""

    residual: Residual
    level: int
    first: bool


State: TypeAlias = BeforePoint | Last | Decimals | ir.Expr
"""A state, or one expression for all possible continuations."""

NO_MEMBER: Final = -1
_ALL: Final[ScaledClass] = frozenset({(None, frozenset())})
_NOT_ZERO: Final = ir.Sequence((ZEROS, NONZERO_DIGIT, DIGITS))
_LETTERS: Final = (*(((code, code),) for code in range(0x30, 0x3A)), ((0x2E, 0x2E),))
_POINT: Final = 10  # its letter


class Digits:
    """The automaton of magnitudes in the pieces, in units of ``10**-scale``.

    ``pieces`` are sorted and disjoint, from position 0 on. ``steps`` are the steps of the lattices in units.
    ``fractions``: whether a point is allowed. ``entries``: the first digits, and the number of the state
    after them.
    Raises: UnsupportedNumber beyond ``MAX_STATES``.
    """

    def __init__(
        self, pieces: tuple[ScaledPiece, ...], steps: tuple[int, ...], scale: int, *, fractions: bool = True
    ) -> None:
        self.steps, self.scale, self.fractions = steps, scale, fractions
        bounds = [p for low, high, _ in pieces for p in (low, high) if p is not None]
        self.length = 1  # digits before the point of the longest number that a bound cuts off
        while 2 * 10 ** (self.length + scale) < max(bounds):
            self.length += 1
        self.beyond = next((terms for _, high, terms in pieces if high is None), frozenset())
        self.used = sorted({i for lattice, out in self.beyond for i in (*out, lattice) if i is not None})
        # numbers with the same remainder are in the same lattices
        self.period = lcm(*[steps[i] for i in self.used])
        self.looks: dict[int, list[tuple[int, int, int]]] = {}
        self.alike: dict[
            tuple[int, tuple[int, ...]], int
        ] = {}  # remainders that behave alike: the first of them
        self.none = (0,) * len(steps)
        self.empty: Residual = ((), (NO_MEMBER,) * len(steps))
        self.begun: list[tuple[ir.Expr, State]] = []
        width = self._last_digits()
        if width is None:
            self._start_by_digit(pieces)
        else:
            self._start_by_length(pieces, width)
        self.states: list[State] = []  # by number
        starts = {state: i for i, state in enumerate(dict.fromkeys(state for _, state in self.begun))}
        self.entries = [(before, starts[state]) for before, state in self.begun]
        try:
            self.automaton = explored(list(starts), self._read, _LETTERS, False, MAX_STATES)
        except TooLarge:
            raise UnsupportedNumber(f"the multiples need more than {MAX_STATES} states of digits") from None

    def _start_by_digit(self, pieces: tuple[ScaledPiece, ...]) -> None:
        """Start deterministically, with the remainders of numbers beyond all bounds if there are any."""
        if self.length > MAX_LENGTH:
            raise UnsupportedNumber(f"these multiples with a bound of more than {MAX_LENGTH} digits")
        levels = [self.scale + k for k in range(1, self.length + 1)]
        rows = [self._children(self._clip(pieces, self.none, 0, level), level) for level in levels]
        ends = [digit % self.period if self.beyond else None for digit in range(10)]
        longer = [(d, self._whole(tuple(row[d] for row in rows), ends[d])) for d in range(1, 10)]
        self._enter([(0, self._whole((rows[0][0],), None)), *longer])

    def _start_by_length(self, pieces: tuple[ScaledPiece, ...], width: int) -> None:
        """Start with a guess of the length; only the last ``width`` digits before the point matter."""
        scale = self.scale
        self.length = max(self.length, width)
        free: list[tuple[int, int | None, ScaledClass]] = []
        self._enter([(0, self._last(0, self._clip(pieces, self.none, 0, scale)))])
        for length in range(1, self.length + 1):
            least = 2 * 10 ** (scale + length - 1)
            inside = [p for p in pieces if p[0] < 10 * least and (p[1] is None or p[1] > least)]
            covers = bool(inside) and inside[0][0] <= least
            if covers and length > width and (inside[0][1] is None or inside[0][1] >= 10 * least):
                terms = inside[0][2]
                if free and free[-1][1] == length - 1 and free[-1][2] == terms:
                    free[-1] = (free[-1][0], length, terms)
                else:
                    free.append((length, length, terms))
            elif inside:
                row = self._children(self._clip(inside, self.none, 0, scale + length), scale + length)
                row[0] = self.empty
                self._enter(_moves(row, partial(self._last, length - 1)))
        if self.beyond:
            if free and free[-1][1] == self.length and free[-1][2] == self.beyond:
                free[-1] = (free[-1][0], None, self.beyond)
            else:
                free.append((self.length + 1, None, self.beyond))
        for shortest, longest, terms in free:
            residual = self._simplify(((0, 2 * 10 ** (scale + width), terms),), self.none, scale + width)
            most = None if longest is None else longest - width - 1
            before = concat((NONZERO_DIGIT, repeat(DIGIT, shortest - width - 1, most)))
            self.begun.append((before, self._last(width, residual)))

    def _enter(self, moves: list[tuple[int, State]]) -> None:
        """Start with digits, each leading to its state."""
        after: dict[State, list[int]] = {}
        for digit, state in moves:
            if state is not ir.NOTHING:
                after.setdefault(state, []).append(digit)
        self.begun += [(_letters(tuple(found)), state) for state, found in after.items()]

    # -- residuals -----------------------------------------------------------------------------------------

    def _clip(
        self, pieces: Iterable[ScaledPiece], least: tuple[int, ...], start: int, level: int
    ) -> Residual:
        """Return the part of the pieces within 10**level units from start, relative to start."""
        size = 10**level
        first, end = 2 * start, 2 * (start + size)
        kept = tuple(
            (max(low, first) - first, (end if high is None else min(high, end)) - first, terms)
            for low, high, terms in pieces
            if low < end and (high is None or high > first)
        )
        moved = tuple(
            c if c == NO_MEMBER else (c - start) % step for c, step in zip(least, self.steps, strict=True)
        )
        return self._simplify(kept, moved, level)

    def _simplify(self, pieces: tuple[ScaledPiece, ...], least: tuple[int, ...], level: int) -> Residual:
        """Drop lattices without a member in the range, and those that no class needs."""
        spend(4 + 8 * len(pieces))
        size = 10**level
        least = tuple(c if c < size else NO_MEMBER for c in least)
        kept: list[ScaledPiece] = []
        used: set[int] = set()
        for low, high, terms in pieces:
            left = terms
            if terms != _ALL and NO_MEMBER in least:
                left = frozenset(
                    (lattice, frozenset(i for i in excluded if least[i] != NO_MEMBER))
                    for lattice, excluded in terms
                    if lattice is None or least[lattice] != NO_MEMBER
                )
                if (None, frozenset()) in left:
                    left = _ALL
            for lattice, excluded in left:
                used.update(excluded)
                if lattice is not None:
                    used.add(lattice)
            if not left:
                continue
            if kept and kept[-1][1] == low and kept[-1][2] == left:
                kept[-1] = (kept[-1][0], high, left)
            else:
                kept.append((low, high, left))
        return tuple(kept), tuple(c if i in used else NO_MEMBER for i, c in enumerate(least))

    def _children(self, residual: Residual, level: int) -> list[Residual]:
        """Return the residual after each digit: one object for digits in a piece that no multiple distinguishes."""
        pieces, least = residual
        size = 10 ** (level - 1)
        alike = all(c == NO_MEMBER or not size % step for c, step in zip(least, self.steps, strict=True))
        found = [self.empty] * 10
        for at, (low, high, _) in enumerate(pieces):
            first, last = low // (2 * size), 9 if high is None else (high - 1) // (2 * size)
            for digit in range(first, last + 1):
                if (
                    alike and first < digit - 1 and digit < last
                ):  # all of it is in the piece, as of the one before
                    found[digit] = found[digit - 1]
                elif found[digit] is self.empty:
                    found[digit] = self._clip(pieces[at:], least, digit * size, level - 1)
        return found

    def _decimals_left(self, residual: Residual, level: int) -> tuple[int | None] | None:
        """Return ``(n,)`` with the maximum number of further decimals, ``(None,)`` if unlimited, or None if a count
        alone cannot decide.
        """
        pieces, least = residual
        if len(pieces) != 1 or pieces[0][:2] != (0, 2 * 10**level) or len(pieces[0][2]) != 1:
            return None
        ((lattice, excluded),) = pieces[0][2]
        if excluded or lattice is None:
            return None if excluded else (None,)
        places = len(str(self.steps[lattice])) - 1
        if least[lattice] or self.steps[lattice] != 10**places or places > self.scale:
            return None
        return (max(0, min(level, self.scale) - places),)

    @staticmethod
    def _has_zero(residual: Residual) -> bool:
        """Return whether the number may end here, or be followed only by zeros."""
        pieces, least = residual
        return bool(pieces and pieces[0][0] == 0) and any(
            (lattice is None or least[lattice] == 0) and not any(least[i] == 0 for i in excluded)
            for lattice, excluded in pieces[0][2]
        )

    @staticmethod
    def _has_others(residual: Residual) -> bool:
        """Return whether values between two units are included."""
        return any(
            low <= 1 and (high is None or high > 1) and any(lattice is None for lattice, _ in terms)
            for low, high, terms in residual[0]
        )

    # -- states --------------------------------------------------------------------------------------------

    def _whole(self, finite: tuple[Residual, ...], remainder: int | None) -> State:
        """Return the state before the point."""
        if remainder is None:
            return BeforePoint(finite, None) if any(pieces for pieces, _ in finite) else ir.NOTHING
        while finite and finite[-1] == self._remaining(remainder, len(finite) - 1):
            finite = finite[:-1]  # the bounds matter no more
        behaviour = self._behaviour(remainder, len(finite))
        return BeforePoint(finite, self.alike.setdefault((len(finite), behaviour), remainder))

    def _last(self, left: int, residual: Residual) -> State:
        """Return the state that reads the last digits before the point."""
        decimals = self._decimals_left(residual, self.scale + left)
        if not residual[0]:
            return ir.NOTHING
        if decimals is not None:
            return _free(left, decimals[0], self.fractions)
        return Last(left, residual) if left else BeforePoint((residual,), None)

    def _decimals(self, residual: Residual, level: int, first: bool) -> State:
        """Return the state after the point."""
        decimals = self._decimals_left(residual, level)
        if decimals is not None:
            return decimals_after(decimals[0], first)
        if level and residual[0]:
            return Decimals(residual, level, first)
        if self._has_zero(residual):
            return decimals_after(None if self._has_others(residual) else 0, first)
        return _NOT_ZERO if self._has_others(residual) else ir.NOTHING

    def _remaining(self, remainder: int, digits: int) -> Residual:
        """Return the residual beyond all bounds if exactly the given number of digits follows."""
        unit = 10 ** (self.scale + digits)
        least = [NO_MEMBER] * len(self.steps)
        for i in self.used:
            least[i] = -remainder * unit % self.steps[i]
        return self._simplify(((0, 2 * unit, self.beyond),), tuple(least), self.scale + digits)

    def _behaviour(self, remainder: int, missing: int) -> tuple[int, ...]:
        """Return the behaviour of the remainder after ``missing`` more digits: equal for equivalent prefixes.

        This is the least member, if any, of each lattice for each number of digits up to a full period.
        """
        looks = self.looks.get(missing)
        if looks is None:
            looks = self.looks[missing] = []
            for step in [self.steps[i] for i in self.used]:
                size = 10 ** (self.scale + missing)
                looks.append((-size % step, step, size))
                while size < step:
                    size *= 10
                    looks.append((-size % step, step, size))
        return tuple(
            [m if (m := remainder * factor % step) < size else NO_MEMBER for factor, step, size in looks]
        )

    def _read(self, state: State) -> tuple[bool, list[tuple[int, State]]]:
        """Return whether a number may end in a state, and the states to which digits and the point lead."""
        self.states.append(state)
        spend(30)
        scale = self.scale
        match state:
            case BeforePoint(finite, remainder):
                end = finite[0] if finite else self._remaining(remainder or 0, 0)
                moves: list[tuple[int, State]] = []
                if len(finite) > 1 or remainder is not None:
                    rows = [self._children(r, scale + k) for k, r in enumerate(finite[1:], start=1)]
                    for digit in range(10):
                        after = None if remainder is None else (10 * remainder + digit) % self.period
                        moves.append((digit, self._whole(tuple(row[digit] for row in rows), after)))
                if self.fractions and end[0]:
                    moves.append((_POINT, self._decimals(end, scale, True)))
                return self._has_zero(end), moves
            case Last(left, residual):
                row = self._children(residual, scale + left)
                return False, _moves(row, lambda child: self._last(left - 1, child))
            case Decimals(residual, level, first):
                row = self._children(residual, level)
                moves = _moves(row, lambda child: self._decimals(child, level - 1, False))
                return self._has_zero(residual) and not first, moves
            case _:
                return state != ir.NOTHING, []

    def _last_digits(self) -> int | None:
        """Return the number of digits before the point that the multiples depend on; None for all."""
        width = 0
        for step in self.steps:
            for prime in (2, 5):
                power = 0
                while step % prime == 0:
                    step //= prime
                    power += 1
                width = max(width, power - self.scale)
            if step > 1:
                return None
        return width

    def is_endless(self) -> bool:
        """Return whether numbers of unbounded length are read by remainders, in recursive states."""
        return bool(self.beyond) and self._last_digits() is None


@lru_cache(1024)
def _free(left: int, decimals: int | None, fractions: bool) -> ir.Expr:
    """Return the given number of digits, then an optional fraction if fractions are allowed."""
    return concat((repeat(DIGIT, left, left), fraction(decimals, fractions)))


def _moves(row: list[Residual], after: Callable[[Residual], State]) -> list[tuple[int, State]]:
    """Return the states after digits with a non-empty residual, by digit."""
    found: list[tuple[int, State]] = []
    for digit, child in enumerate(row):
        if child[0]:
            found.append((digit, found[-1][1] if digit and child is row[digit - 1] else after(child)))
    return found


@lru_cache(1024)
def _letters(letters: tuple[int, ...]) -> ir.Expr:
    """Return the class of the given letters, which are digits or the point."""
    return one_of([code for letter in letters for code in _LETTERS[letter]], False)


class _Writer:
    """Writes states of an automaton as expressions, inner ones first. Cycles and large shared ones become
    rules.

    ``prefix``: the prefix of rule names; None for an expression without rules.
    Raises: UnsupportedNumber without rules, if remainders or too many parts need them.
    """

    def __init__(self, digits: Digits, prefix: str | None) -> None:
        self.digits, self.prefix = digits, prefix
        automaton = digits.automaton
        self.alive = automaton.alive()
        self.done: dict[int, tuple[list[ir.Expr], int, int]] = {}  # alternatives, parts, depth
        self.rules: dict[str, ir.Expr] = {}
        self.moves: dict[int, dict[int, list[int]]] = {}  # of each state, the letters by where they lead
        self.uses: dict[int, int] = {}
        for number in self.alive:
            moves = self.moves[number] = {}
            for letter, target in automaton.rows[number].items():
                if target in self.alive:
                    moves.setdefault(target, []).append(letter)
            for target in moves:
                self.uses[target] = self.uses.get(target, 0) + 1
        for _, number in digits.entries:
            self.uses[number] = self.uses.get(number, 0) + 1

    def write(self) -> tuple[ir.Expr, dict[str, ir.Expr]]:
        found: list[ir.Expr] = []
        for before, number in self.digits.entries:
            if number in self.alive:
                self._finish(number)
                found += self._after(before, number)[0]
        return (choice(found) if found else ir.NOTHING), self.rules

    def _finish(self, root: int) -> None:
        """Write a state after all its successors were written."""
        stack = [(root, False)]
        open_states: set[int] = set()
        while stack:
            number, ready = stack.pop()
            if number in self.done:
                continue
            if ready:
                open_states.discard(number)
                self.done[number] = self._close(number)
                continue
            open_states.add(number)
            stack.append((number, True))
            for target in self.moves[number]:
                if target in open_states:
                    self._make_rule(target)
                elif target not in self.done:
                    stack.append((target, False))

    def _make_rule(self, number: int) -> None:
        """Turn a recursive state into a rule."""
        if self.prefix is None:
            raise UnsupportedNumber(
                "multiples without an upper bound need rules, which this place cannot have"
            )
        self.rules.setdefault(self._name(number), ir.NOTHING)

    def _name(self, number: int) -> str:
        return f"{self.prefix}.{number}"

    def _after(self, head: ir.Expr, number: int) -> tuple[list[ir.Expr], int, int]:
        """Return the alternatives after ``head`` and a state, with their parts and depth.

        A state with a single predecessor and few alternatives is expanded in place, as for digits between
        bounds.
        """
        items, parts, depth = self.done.get(number) or ([ir.RuleRef(self._name(number))], 1, 0)
        if len(items) == 1 or (len(items) <= MAX_FLAT and self.uses[number] == 1):
            return [concat((head, item)) for item in items], parts + 2 * len(items), depth
        return [concat((head, choice(items)))], parts + 2, depth + 1

    def _close(self, number: int) -> tuple[list[ir.Expr], int, int]:
        """Return the alternatives, parts and depth of a state whose successors are done or rules."""
        state = self.digits.states[number]
        if isinstance(state, ir.Expr):
            return [state], 1, 0
        items: list[ir.Expr] = [ir.EPSILON] if self.digits.automaton.accepting[number] else []
        parts, depth = 1, 0
        for target, letters in self.moves[number].items():
            more, size, below = self._after(_letters(tuple(letters)), target)
            items += more
            parts += size
            depth = max(depth, below)
        name = self._name(number)
        if self.prefix is None:
            if parts > MAX_PARTS or depth > MAX_DEPTH:
                raise UnsupportedNumber("the multiples need too many parts, and this place cannot have rules")
        elif (
            name in self.rules
            or depth >= MAX_DEPTH
            or (parts > SHARED_PARTS and self.uses.get(number, 0) > 1)
        ):
            self.rules[name] = choice(items)
            return [ir.RuleRef(name)], 1, 0
        return items, parts, depth


# -- exponents -------------------------------------------------------------------------------------------
#
# As serialisers print them: `1e+22`, `1.5E10`, `2.5e-07`. Where every magnitude from zero on is allowed, every spelling of
# JSON is. Elsewhere a spelling is normalised: one digit that is not 0, an optional fraction, an exponent between the
# limits below, with or without `+` and with at most one leading zero. Exponents between the limits (as in `5e2`) are left
# out there: no serialiser prints them, and each would double what a mask has to know. Between bounds only whole decades
# have these spellings, and bounds of numbers with any decimals. Where values keep to a number of decimals, the mantissa
# has at most as many as the least exponent of its interval makes whole, or up to 16 with an exponent that makes 16 whole.

_E: Final = ir.CharClass(((0x45, 0x45), (0x65, 0x65)))
_PLUS: Final = ir.Repeat(ir.Literal(b"+"), 0, 1)
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
    """Return ``e`` and the exponents from low to high, which all have the same sign."""
    if low < 0:
        return concat((_E, _MINUS, _exponent_digits(-high, -low)))
    return concat((_E, _PLUS, _exponent_digits(low, high)))


def _exponent_digits(low: int, high: int) -> ir.Expr:
    found: list[ir.Expr] = []
    if low < 10:
        found.append(concat((ir.Repeat(ZERO, 0, 1), one_of([(0x30 + low, 0x30 + min(high, 9))], False))))
    if high >= 10:
        found.append(_interval(((0, max(low, 10), 0), (0, high, 1), _WHOLE), False))
    return choice(found)


PLAIN_POSITIVE: Final = ir.Sequence(
    (_POSITIVE, ir.Repeat(ir.Choice((_exponent(0, LARGE[1]), _exponent(SMALL[0], -1))), 0, 1))
)
"""The same with the exponents of doubles and at most one leading zero in them, as Python writes ``1e-07``."""

PLAIN_MAGNITUDE: Final = ir.Choice((PLAIN_POSITIVE, ir.Sequence((ZERO, fraction(0)))))
"""The same with zero, which has no exponent."""


@lru_cache(1024)
def scientific(low: Bound, high: Bound | None, decimals: int | None) -> tuple[ir.Expr, ...]:
    """Return the normalised spellings of the bounds of an interval, and of the decades entirely inside.

    ``decimals``: the number of decimals, None for any. A decade is the interval from 10**n to 10**(n+1).
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
    """Return the normalised spellings of ``digits / 10**decimals``, which is positive; NOTHING beyond limits."""
    decade = len(str(digits)) - 1 - decimals
    if not any(first <= decade <= last for first, last in (SMALL, LARGE)):
        return ir.NOTHING
    text = str(digits).rstrip("0")
    mantissa: tuple[ir.Expr, ...] = (ir.Literal(text[0].encode()), fraction(0))
    if len(text) > 1:
        mantissa = (ir.Literal(f"{text[0]}.{text[1:]}".encode()), ZEROS)
    return concat((*mantissa, _exponent(decade, decade)))


@lru_cache(512)
def _whole_decades(first: int, last: int, decimals: int | None) -> tuple[ir.Expr, ...]:
    """Return the spellings of the values between 10**first and 10**(last + 1)."""
    if decimals is None:
        return (concat((NONZERO_DIGIT, fraction(None), _exponent(first, last))),)
    if first < 0:
        return tuple(
            concat((NONZERO_DIGIT, fraction(e + decimals), _exponent(e, e))) for e in range(first, last + 1)
        )
    few = min(first + decimals, MAX_DECIMALS)
    more = min(last + decimals, MAX_DECIMALS)
    found: list[ir.Expr] = [_exponent(first, last)]
    if few:
        found.append(concat((POINT, repeat(DIGIT, 1, few), _exponent(first, last))))
    if more > few:
        exponent = _exponent(max(first, more - decimals), last)
        found.append(concat((POINT, repeat(DIGIT, few + 1, more), exponent)))
    return (concat((NONZERO_DIGIT, choice(found))),)
