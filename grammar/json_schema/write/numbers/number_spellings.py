"""From sets of numbers to expressions: which spelling is written by which module, and the signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Final, TypeAlias

from stackmask.grammar import ir
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
)
from stackmask.grammar.json_schema.text.strings import choice
from stackmask.grammar.json_schema.write.numbers import decimals as d
from stackmask.grammar.languages.automaton import reaching
from stackmask.grammar.source.work import spend

MULTIPLE_DIGITS: Final = 18  # before the point of plain multiples: all of these have 64 bits
ENDED_STATES: Final = (
    24  # of remainders that are told apart for each number of digits then: it costs much work
)
LISTED_VALUES: Final = 300  # sets with multiples and no more values than this are written out as a list

_LEAST_LARGE: Final = 10 ** d.LARGE[0]
_LEAST_PLAIN: Final = Fraction(1, 10 ** (-d.SMALL[1] - 1))
_MINUS: Final = ir.Literal(b"-")
_ZERO_CUT: Final[Cut] = (0, 0, 0)
_AFTER_ZERO: Final[Cut] = (0, 0, 1)
_LEAST_OF_64_BITS: Final[Cut] = (0, -(2**63), 0)
_MOST_OF_64_BITS: Final[Cut] = (0, 2**63 - 1, 1)


Spelled: TypeAlias = tuple[ir.Expr, dict[str, ir.Expr]]
"""An expression and the rules that it refers to, by name; not to be changed."""


def number_expr(numbers: NumberSet, *, zero_fractions: bool = True, plain: bool = False) -> ir.Expr:
    """Return the spellings of the members as one expression without references.

    ``zero_fractions=False``: if all members are whole, none is written with a point or an exponent, as
    draft 4 has it for integers. ``plain``: what is known to be whole is digits alone, 0 has no sign, integers have 64
    bits where they have no bound, and single values with decimals have no zeros after them.
    Raises: UnsupportedNumber where only rules can say it: multiples of a number with a factor other than
        2 and 5, without bounds, or with more than some thousand pieces.
    Cost: 10–100 µs for bounds and decimals, milliseconds for other multiples; remembered.
    """
    return _write_alone(numbers.pieces, zero_fractions, plain)


def number_spelling(
    numbers: NumberSet, prefix: str, *, zero_fractions: bool = True, plain: bool = False
) -> Spelled:
    """Return the spellings of the members as an expression and the rules that it refers to.

    The rules' names begin with ``prefix`` and a dot; the prefix must be the caller's own, one for each
    set. Most sets need no rules. Rules are right-linear and regular but recursive, so the expression must
    not stand under `&` or `!`: use the operations of ``NumberSet`` instead.
    Raises: UnsupportedNumber where the multiples need too many states. Cost: as ``number_expr``.
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
    return d.ended(found) if plain else found


@lru_cache(32)  # these can be large
def _write_with_rules(pieces: tuple[Piece, ...], zeros: bool, plain: bool, prefix: str) -> Spelled:
    expr, rules = _write(pieces, zeros, plain, prefix)
    if plain:
        expr, rules = d.ended(expr), {name: d.ended(rule) for name, rule in rules.items()}
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
        return d.sequence(ir.Repeat(_MINUS, 0, 1), choice(items)), rules
    items = _magnitudes(positive, zeros, plain, prefix and f"{prefix}.p", rules)
    below = _magnitudes(negative, zeros, plain, prefix and f"{prefix}.n", rules)
    if below:
        items.append(d.sequence(_MINUS, choice(below)))
    return (choice(items) if items else ir.NOTHING), rules


def _is_whole(piece: Piece) -> bool:
    """Return whether the piece holds whole numbers only."""
    low, high, terms = piece
    if is_point(low, high):
        return type(low[1]) is int
    return all(type(lattice) is int for lattice, _ in terms)


def _of_64_bits(piece: Piece) -> Piece:
    """Return the integers of a piece that have 64 bits, where it has no bound; those with a bound beyond half of these stay."""
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
    """Return what of the pieces is not negative; without 0 in those of whole numbers, where that has no sign."""
    found = []
    for piece in pieces:
        low, high, terms = piece
        least = _AFTER_ZERO if unsigned and _is_whole(piece) else _ZERO_CUT
        if high > least:
            found.append((max(low, least), high, terms))
    return tuple(found)


def _decimals_of(terms: Class) -> int | None:
    """Return n where the class is the multiples of 10**-n."""
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
    """Return how many decimals a value has."""
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


def _bound(cut: Cut, closed_side: int) -> d.Bound:
    places = _places(cut[1])
    return int(cut[1] * 10**places), places, cut[2] == closed_side


def _magnitudes(
    pieces: tuple[Piece, ...], zeros: bool, plain: bool, prefix: str | None, rules: dict[str, ir.Expr]
) -> list[ir.Expr]:
    """Return the alternatives of magnitudes, the pieces of which begin at zero or later."""
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
            found.append(d.PLAIN_MAGNITUDE if plain else d.ANY_MAGNITUDE)
        elif terms == ALL and high == TOP and low == _AFTER_ZERO:
            found.append(d.PLAIN_POSITIVE if plain else d.POSITIVE_MAGNITUDE)
        elif terms == ALL or (places := _decimals_of(terms)) is not None:
            decimals = None if terms == ALL else places
            start, stop = _bound(low, 0), None if high == TOP else _bound(high, 1)
            written = d.interval(start, stop, decimals, fractions)
            if written != ir.NOTHING:
                found.append(written)
            if fractions:
                found += d.scientific(start, stop, decimals)
        elif (few := NumberSet((piece,)).values(LISTED_VALUES)) is not None:
            values += few
        else:
            others.setdefault(fractions, []).append(piece)
    if values:
        found += _listed(values, zeros, plain)
    for number, (fractions, unlisted) in enumerate(others.items()):
        automaton = _automaton(tuple(unlisted), fractions)
        if plain and (len(automaton.states) <= ENDED_STATES or not automaton.is_endless()):
            automaton = _with_an_end(tuple(unlisted), fractions) or automaton
        written, more = _Writer(automaton, f"{prefix}w" if prefix and number else prefix).write()
        if written != ir.NOTHING:
            found.append(written)
        rules.update(more)
    return found


def _listed(values: list[Rational], zeros: bool, plain: bool) -> list[ir.Expr]:
    """Return the spellings of single values: whole ones, those with an exponent, those with decimals."""
    whole: list[ir.Expr] = [ir.Literal(b"%d" % value) for value in values if type(value) is int]
    found = [d.sequence(choice(whole), d.fraction(0, zeros and not plain))] if whole else []
    decimal: list[ir.Expr] = []
    for value in values:
        places = _places(value)
        digits = int(value * 10**places)
        is_whole = type(value) is int
        if zeros and value and (value >= _LEAST_LARGE or value < _LEAST_PLAIN) and not (plain and is_whole):
            power = d.scientific_value(digits, places)
            if power != ir.NOTHING:
                found.append(power)
        if not is_whole:
            text = str(digits).rjust(places + 1, "0")
            decimal.append(ir.Literal(f"{text[:-places]}.{text[-places:]}".encode()))
    if decimal:
        found.append(d.sequence(choice(decimal), ir.EPSILON if plain else d.ZEROS))
    return found


def _with_an_end(pieces: tuple[Piece, ...], zeros: bool) -> DigitAutomaton | None:
    """Return the automaton of what has at most so many digits where there is no bound.

    None where nothing of a piece is left, or where it takes too many states.
    """
    end: Cut = (0, 10**MULTIPLE_DIGITS, 0)
    inside = tuple((low, end if high == TOP else high, terms) for low, high, terms in pieces)
    if any(low >= high or NumberSet(((low, high, terms),)).is_empty() for low, high, terms in inside):
        return None
    try:
        return _automaton(inside, zeros)
    except UnsupportedNumber:
        return None


@lru_cache(32)
def _automaton(pieces: tuple[Piece, ...], zeros: bool) -> DigitAutomaton:
    """Return the automaton of pieces with multiples, in whole units."""
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

    return DigitAutomaton(
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
    " asked for, with as many decimals in the mantissa as any of the exponents makes exact, 16 at most if the"
    " exponent makes 16 exact; no exponents with other multiples, and none for 0."
)
"""What the spellings of numbers leave out, for reports. (Bounds: ``scientific.SMALL``, ``scientific.LARGE``.)"""

PLAIN_NARROWING: Final = (
    "Integers are digits alone: no -0, 6.0 or 1e2; where they have no bound, they have 64 bits. A run of digits has"
    f" at most {d.MAX_RUN} ({d.MAX_RUN - 1} more than it must have, where that is more), and {MULTIPLE_DIGITS}"
    " before the point where multiples of another number are asked for, if that takes few enough states; an exponent"
    " is from -324 to 308, with at most one leading zero, and 0 has none. Single values have no zeros after their"
    " decimals."
)
"""What plain numbers leave out besides what every grammar does, for reports."""


# -- multiples -------------------------------------------------------------------------------------------
#
# For bounds alone `decimals` is enough. A multiple of 7 or of 0.25 needs to know the digits before it, so the
# set is read digit by digit: a state is what remains possible after a prefix (a *residual*), scaled to whole
# numbers. Before the point it is not known how many digits follow, so a state there holds a residual for each
# length. Beyond the last bound only the multiples count: those of 2 and 5 look at the last digits alone, the
# others need remainders, whose states call each other and so become rules.

MAX_STATES: Final = 5_000
MAX_LENGTH: Final = 60  # digits before the point of a bound on multiples that need remainders
MAX_PARTS: Final = 20_000  # of an expression without rules
MAX_DEPTH: Final = 40  # states nested in one expression
SHARED_PARTS: Final = 12  # an expression of so many parts that is used twice becomes a rule

ScaledTerm: TypeAlias = tuple[int | None, frozenset[int]]
ScaledClass: TypeAlias = frozenset[ScaledTerm]
"""A class whose lattices are whole multiples of the unit; the index of a lattice is its place in ``steps``."""

ScaledPiece: TypeAlias = tuple[int, int | None, ScaledClass]
"""Positions from and up to (2v is just before the value v, 2v + 1 just after it); None for no upper bound."""

_Start: TypeAlias = tuple[int, int | None, int]
"""A way to begin: at least and at most so many digits, the first not 0 (none at all if both are 0), a state."""

Residual: TypeAlias = tuple[tuple[ScaledPiece, ...], tuple[int, ...]]
"""What is left of the pieces, and for each lattice its least member that is left (-1: none, or no matter)."""

NO_MEMBER: Final = -1
_ALL: Final[ScaledClass] = frozenset({(None, frozenset())})
_NOT_ZERO: Final = ir.Sequence((d.ZEROS, d.NONZERO_DIGIT, d.DIGITS))
# what may follow inside a fraction once all decimals of bounds and multiples are read: (zeros only, others too)
_ENDINGS: Final[dict[tuple[bool, bool], ir.Expr]] = {
    (True, True): d.DIGITS,
    (True, False): d.ZEROS,
    (False, True): _NOT_ZERO,
}
_FIRST_ENDINGS: Final[dict[tuple[bool, bool], ir.Expr]] = {
    (True, True): ir.Repeat(d.DIGIT, 1, None),
    (True, False): ir.Repeat(d.ZERO, 1, None),
    (False, True): _NOT_ZERO,
}


@dataclass(slots=True)
class _State:
    """A state: whether a text may end, what it calls by digit, after a point, and as a finished ending."""

    accepting: bool = False
    digits: dict[int, int] = field(default_factory=dict)
    point: int = -1
    ending: ir.Expr | None = None


class DigitAutomaton:
    """The automaton of magnitudes in the pieces, in units of ``10**-scale``.

    ``pieces`` are sorted and disjoint, from position 0 on. ``steps`` are the lattices in units. ``fractions``:
    whether a point may follow at all. Raises: UnsupportedNumber beyond ``MAX_STATES``.
    """

    def __init__(
        self, pieces: tuple[ScaledPiece, ...], steps: tuple[int, ...], scale: int, *, fractions: bool = True
    ) -> None:
        self.steps, self.scale, self.fractions = steps, scale, fractions
        self.states: list[_State] = []
        self.numbers: dict[object, int] = {}
        self.todo: list[tuple[int, Callable[[_State], None]]] = []
        bounds = [p for low, high, _ in pieces for p in (low, high) if p is not None]
        self.length = 1  # digits before the point of the longest number that a bound cuts off
        while 2 * 10 ** (self.length + scale) < max(bounds):
            self.length += 1
        self.beyond = next((terms for _, high, terms in pieces if high is None), frozenset())
        self.used = sorted({i for lattice, out in self.beyond for i in (*out, lattice) if i is not None})
        self.period = lcm(
            *[steps[i] for i in self.used]
        )  # numbers with the same remainder are in the same lattices
        self.looks: dict[int, list[tuple[int, int, int]]] = {}
        self.starts: list[_Start] = []
        width = self._last_digits()
        if width is None:
            self._start_by_digit(pieces)
        else:
            self._start_by_length(pieces, width)
        while self.todo:
            number, fill = self.todo.pop()
            fill(self.states[number])
        self._trim()

    def _start_by_digit(self, pieces: tuple[ScaledPiece, ...]) -> None:
        """Start deterministically, with the remainders of numbers beyond all bounds if there are such."""
        if self.length > MAX_LENGTH:
            raise UnsupportedNumber(f"these multiples with a bound of more than {MAX_LENGTH} digits")
        none = (0,) * len(self.steps)
        scale = self.scale
        whole = [self._clip(pieces, none, 0, scale + k) for k in range(1, self.length + 1)]

        def fill(state: _State) -> None:
            state.digits[0] = self._integer((self._child(whole[0], 0, scale + 1),), None)
            for digit in range(1, 10):
                finite = tuple(self._child(rest, digit, scale + k) for k, rest in enumerate(whole, start=1))
                rest = digit % self.period if self.beyond else None
                state.digits[digit] = self._integer(finite, rest)

        self.starts.append((0, 0, self._add("start", fill)))

    def _start_by_length(self, pieces: tuple[ScaledPiece, ...], width: int) -> None:
        """Start with a guess of the length; only the last ``width`` digits before the point matter."""
        none = (0,) * len(self.steps)
        scale = self.scale
        self.length = max(self.length, width)
        free: list[tuple[int, int | None, ScaledClass]] = []
        for length in range(1, self.length + 1):
            least = 2 * 10 ** (scale + length - 1) if length > 1 else 0
            inside = [p for p in pieces if p[0] < 10 * least or length == 1]
            terms = next(
                (p[2] for p in pieces if p[0] <= least and (p[1] is None or p[1] >= 10 * least)), None
            )
            if length > width and length > 1 and terms is not None:
                if free and free[-1][1] == length - 1 and free[-1][2] == terms:
                    free[-1] = (free[-1][0], length, terms)
                else:
                    free.append((length, length, terms))
            elif inside:
                residual = self._clip(pieces, none, 0, scale + length)
                self.starts.append((0, 0, self._first(length, residual)))
        if self.beyond:
            if free and free[-1][1] == self.length and free[-1][2] == self.beyond:
                free[-1] = (free[-1][0], None, self.beyond)
            else:
                free.append((self.length + 1, None, self.beyond))
        for shortest, longest, terms in free:
            residual = self._simplify(((0, 2 * 10 ** (scale + width), terms),), none, scale + width)
            most = None if longest is None else longest - width
            self.starts.append((shortest - width, most, self._last(width, residual)))

    def _first(self, length: int, residual: Residual) -> int:
        """Return the state that reads a number of exactly ``length`` digits before the point."""

        def fill(state: _State) -> None:
            for digit in range(0 if length == 1 else 1, 10):
                child = self._child(residual, digit, self.scale + length)
                if child[0]:
                    state.digits[digit] = self._last(length - 1, child)

        return self._add((length, "first"), fill)

    # -- residuals -----------------------------------------------------------------------------------------

    def _clip(
        self, pieces: tuple[ScaledPiece, ...], least: tuple[int, ...], start: int, level: int
    ) -> Residual:
        """Return what lies in the 10**level units from start, counted from start."""
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
        """Leave out lattices without a member in the range, and forget those that no class needs."""
        spend(4 + 8 * len(pieces))
        size = 10**level
        least = tuple(c if c < size else NO_MEMBER for c in least)
        kept: list[ScaledPiece] = []
        used: set[int] = set()
        for low, high, terms in pieces:
            left = terms
            if terms != _ALL:
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

    def _child(self, residual: Residual, digit: int, level: int) -> Residual:
        return self._clip(*residual, digit * 10 ** (level - 1), level - 1)

    @staticmethod
    def _has_zero(residual: Residual) -> bool:
        """Return whether the value may end here, with nothing but zeros to come."""
        pieces, least = residual
        return bool(pieces and pieces[0][0] == 0) and any(
            (lattice is None or least[lattice] == 0) and not any(least[i] == 0 for i in excluded)
            for lattice, excluded in pieces[0][2]
        )

    @staticmethod
    def _has_others(residual: Residual) -> bool:
        """Return whether values between two units are in."""
        return any(
            low <= 1 and (high is None or high > 1) and any(lattice is None for lattice, _ in terms)
            for low, high, terms in residual[0]
        )

    # -- states --------------------------------------------------------------------------------------------

    def _add(self, key: object, fill: Callable[[_State], None]) -> int:
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.states)
            spend(30)
            if number >= MAX_STATES:
                raise UnsupportedNumber(f"the multiples need more than {MAX_STATES} states of digits")
            self.states.append(_State())
            self.todo.append((number, fill))
        return number

    def _integer(self, finite: tuple[Residual, ...], rest: int | None) -> int:
        """Return the state before the point: residuals for 0, 1, … more digits, and the remainder beyond.

        With None for the remainder no longer number is in.
        """
        if rest is not None:
            while finite and finite[-1] == self._remaining(rest, len(finite) - 1):
                finite = finite[:-1]  # the bounds matter no more
        key = (finite, None if rest is None else self._behaviour(rest, len(finite)))
        return self._add(key, lambda state: self._fill_integer(state, finite, rest))

    def _remaining(self, rest: int, digits: int) -> Residual:
        """Return the residual beyond all bounds for exactly so many more digits."""
        unit = 10 ** (self.scale + digits)
        least = [NO_MEMBER] * len(self.steps)
        for i in self.used:
            least[i] = -rest * unit % self.steps[i]
        return self._simplify(((0, 2 * unit, self.beyond),), tuple(least), self.scale + digits)

    def _behaviour(self, rest: int, missing: int) -> tuple[int, ...]:
        """Return what the remainder means after ``missing`` more digits: equal for prefixes that behave alike.

        For each lattice and each count of digits, until they go around it once: its least member, if there is one.
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
        return tuple([m if (m := rest * factor % step) < size else NO_MEMBER for factor, step, size in looks])

    def _fill_integer(self, state: _State, finite: tuple[Residual, ...], rest: int | None) -> None:
        scale = self.scale
        if finite or rest is not None:
            end = finite[0] if finite else self._remaining(rest or 0, 0)
            state.accepting = self._has_zero(end)
            if self.fractions and end[0]:
                state.point = self._fraction(end, scale, True)
        if len(finite) > 1 or rest is not None:
            for digit in range(10):
                shorter = tuple(
                    self._child(residual, digit, scale + k) for k, residual in enumerate(finite[1:], start=1)
                )
                longer = None if rest is None else (10 * rest + digit) % self.period
                if longer is not None or any(pieces for pieces, _ in shorter):
                    state.digits[digit] = self._integer(shorter, longer)

    def _fraction(self, residual: Residual, level: int, first: bool) -> int:
        """Return the state after the point; ``first``: no decimal has been read yet."""
        return self._add(
            (residual, level, first), lambda state: self._fill_fraction(state, residual, level, first)
        )

    def _fill_fraction(self, state: _State, residual: Residual, level: int, first: bool) -> None:
        zero = self._has_zero(residual)
        if level == 0:
            endings = _FIRST_ENDINGS if first else _ENDINGS
            state.ending = endings.get((zero, self._has_others(residual)))
            return
        state.accepting = zero and not first
        if residual[0]:
            for digit in range(10):
                child = self._child(residual, digit, level)
                if child[0]:
                    state.digits[digit] = self._fraction(child, level - 1, False)

    def _last(self, left: int, residual: Residual) -> int:
        """Return the state that reads the last digits before the point, exactly so many."""
        if left == 0:
            return self._integer((residual,), None)

        def fill(state: _State) -> None:
            for digit in range(10):
                child = self._child(residual, digit, self.scale + left)
                if child[0]:
                    state.digits[digit] = self._last(left - 1, child)

        return self._add((left, residual, "last"), fill)

    def _last_digits(self) -> int | None:
        """Return how many digits before the point the multiples look at; None: all of them."""
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
        """Return whether numbers of any length are read by their remainders, in states that call each other."""
        return bool(self.beyond) and self._last_digits() is None

    def _trim(self) -> None:
        """Cut the ways to states from which no text ends."""
        calls = [(n, t) for n, state in enumerate(self.states) for t in (*state.digits.values(), state.point)]
        ends = (n for n, state in enumerate(self.states) if state.accepting or state.ending is not None)
        alive = self.alive = reaching(calls, ends)
        for state in self.states:
            state.digits = {digit: target for digit, target in state.digits.items() if target in alive}
            if state.point not in alive:
                state.point = -1


class _Writer:
    """Writes the states of an automaton as expressions, inner ones first; cycles and large shared ones become rules.

    ``prefix``: of the names of rules; None for an expression without rules.
    Raises: UnsupportedNumber without rules, where remainders or too many parts need them.
    """

    def __init__(self, automaton: DigitAutomaton, prefix: str | None) -> None:
        self.states, self.alive, self.prefix = automaton.states, automaton.alive, prefix
        self.automaton = automaton
        self.done: dict[int, tuple[ir.Expr, int, int]] = {}  # expression, parts, depth
        self.rules: dict[str, ir.Expr] = {}
        self.uses: dict[int, int] = {}
        for number in self.alive:
            for target in {*self.states[number].digits.values(), self.states[number].point}:
                self.uses[target] = self.uses.get(target, 0) + 1

    def write(self) -> tuple[ir.Expr, dict[str, ir.Expr]]:
        found = []
        for least, most, state in self.automaton.starts:
            if state in self.alive:
                expr = self._expression(state)
                if most is None or most:
                    free = d.repeat(d.DIGIT, least - 1, None if most is None else most - 1)
                    expr = d.sequence(d.NONZERO_DIGIT, free, expr)
                found.append(expr)
        return (choice(found) if found else ir.NOTHING), self.rules

    def _expression(self, root: int) -> ir.Expr:
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
            state = self.states[number]
            for target in (*state.digits.values(), state.point):
                if target in open_states:
                    self._make_rule(target)
                elif target >= 0 and target not in self.done:
                    stack.append((target, False))
        return self.done[root][0]

    def _make_rule(self, number: int) -> None:
        """Let a state that calls itself be a rule."""
        if self.prefix is None:
            raise UnsupportedNumber(
                "multiples without an upper bound need rules, which this place cannot have"
            )
        self.rules.setdefault(self._name(number), ir.NOTHING)

    def _name(self, number: int) -> str:
        return f"{self.prefix}.{number}"

    def _close(self, number: int) -> tuple[ir.Expr, int, int]:
        """Return the expression of a state, its parts and its depth; the states it calls are done or rules."""
        state = self.states[number]
        items: list[ir.Expr] = [ir.EPSILON] if state.accepting else []
        parts, depth = 1, 0
        if state.ending is not None:
            items.append(state.ending)
        targets: dict[int, list[int]] = {}
        for digit, target in state.digits.items():
            targets.setdefault(target, []).append(digit)
        steps = [(_digits(digits), target) for target, digits in targets.items()]
        if state.point >= 0:
            steps.append((d.POINT, state.point))
        for head, target in steps:
            expr, size, below = self.done.get(target) or (ir.RuleRef(self._name(target)), 1, 0)
            items.append(d.sequence(head, expr))
            parts += size + 2
            depth = max(depth, below + 1)
        expr = choice(items)
        name = self._name(number)
        if self.prefix is None:
            if parts > MAX_PARTS or depth > MAX_DEPTH:
                raise UnsupportedNumber("the multiples need too many parts, and this place cannot have rules")
        elif (
            name in self.rules
            or depth >= MAX_DEPTH
            or (parts > SHARED_PARTS and self.uses.get(number, 0) > 1)
        ):
            self.rules[name] = expr
            return ir.RuleRef(name), 1, 0
        return expr, parts, depth


def _digits(digits: list[int]) -> ir.Expr:
    """Return the class of some digits."""
    ranges: list[tuple[int, int]] = []
    for digit in sorted(digits):
        if ranges and ranges[-1][1] == 0x2F + digit:
            ranges[-1] = (ranges[-1][0], 0x30 + digit)
        else:
            ranges.append((0x30 + digit, 0x30 + digit))
    if len(digits) == 1:
        return ir.Literal(b"%d" % digits[0])
    return ir.CharClass(tuple(ranges))
