"""From sets of numbers to expressions: which spelling is written by which module, and the signs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

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
from stackmask.grammar.json_schema.write.numbers import decimals as d
from stackmask.grammar.json_schema.write.numbers.digits import DigitAutomaton, ScaledClass
from stackmask.grammar.json_schema.write.numbers.scientific import (
    ANY_MAGNITUDE,
    LARGE,
    PLAIN_MAGNITUDE,
    PLAIN_POSITIVE,
    POSITIVE_MAGNITUDE,
    SMALL,
    scientific,
    scientific_value,
)

MULTIPLE_DIGITS: Final = 18  # before the point of plain multiples: all of these have 64 bits
ENDED_STATES: Final = (
    24  # of remainders that are told apart for each number of digits then: it costs much work
)
LISTED_VALUES: Final = 300  # sets with multiples and no more values than this are written out as a list

_LEAST_LARGE: Final = 10 ** LARGE[0]
_LEAST_PLAIN: Final = Fraction(1, 10 ** (-SMALL[1] - 1))
_MINUS: Final = ir.Literal(b"-")
_ZERO_CUT: Final[Cut] = (0, 0, 0)
_AFTER_ZERO: Final[Cut] = (0, 0, 1)
_LEAST_OF_64_BITS: Final[Cut] = (0, -(2**63), 0)
_MOST_OF_64_BITS: Final[Cut] = (0, 2**63 - 1, 1)


@dataclass(frozen=True, slots=True)
class Spelling:
    """An expression and the rules that it refers to, by name; not to be changed."""

    expr: ir.Expr
    rules: dict[str, ir.Expr]


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
) -> Spelling:
    """Return the spellings of the members as an expression and the rules that it refers to.

    The rules' names begin with ``prefix`` and a dot; the prefix must be the caller's own, one for each
    set. Most sets need no rules. Rules are right-linear and regular but recursive, so the expression must
    not stand under `&` or `!`: use the operations of ``NumberSet`` instead.
    Raises: UnsupportedNumber where the multiples need too many states. Cost: as ``number_expr``.
    """
    if not _needs_digits(numbers.pieces):
        return Spelling(_write_alone(numbers.pieces, zero_fractions, plain), {})
    return _write_with_rules(numbers.pieces, zero_fractions, plain, prefix)


@lru_cache(1024)
def _needs_digits(pieces: tuple[Piece, ...]) -> bool:
    return any(terms != ALL and _decimals_of(terms) is None for _, _, terms in pieces)


@lru_cache(1024)
def _write_alone(pieces: tuple[Piece, ...], zeros: bool, plain: bool) -> ir.Expr:
    found = _write(pieces, zeros, plain, None)[0]
    return d.ended(found) if plain else found


@lru_cache(32)  # these can be large
def _write_with_rules(pieces: tuple[Piece, ...], zeros: bool, plain: bool, prefix: str) -> Spelling:
    expr, rules = _write(pieces, zeros, plain, prefix)
    if plain:
        expr, rules = d.ended(expr), {name: d.ended(rule) for name, rule in rules.items()}
    return Spelling(expr, rules)


def _write(
    pieces: tuple[Piece, ...], zeros: bool, plain: bool, prefix: str | None
) -> tuple[ir.Expr, dict[str, ir.Expr]]:
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
        return d.sequence(ir.Repeat(_MINUS, 0, 1), d.choice(items)), rules
    items = _magnitudes(positive, zeros, plain, prefix and f"{prefix}.p", rules)
    below = _magnitudes(negative, zeros, plain, prefix and f"{prefix}.n", rules)
    if below:
        items.append(d.sequence(_MINUS, d.choice(below)))
    return (d.choice(items) if items else ir.NOTHING), rules


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
            found.append(PLAIN_MAGNITUDE if plain else ANY_MAGNITUDE)
        elif terms == ALL and high == TOP and low == _AFTER_ZERO:
            found.append(PLAIN_POSITIVE if plain else POSITIVE_MAGNITUDE)
        elif terms == ALL or (places := _decimals_of(terms)) is not None:
            decimals = None if terms == ALL else places
            start, stop = _bound(low, 0), None if high == TOP else _bound(high, 1)
            written = d.interval(start, stop, decimals, fractions)
            if written != ir.NOTHING:
                found.append(written)
            if fractions:
                found += scientific(start, stop, decimals)
        elif (few := NumberSet((piece,)).values(LISTED_VALUES)) is not None:
            values += few
        else:
            others.setdefault(fractions, []).append(piece)
    if values:
        found += _listed_plainly(values) if plain else _listed(values, zeros)
    for number, (fractions, unlisted) in enumerate(others.items()):
        automaton = _automaton(tuple(unlisted), fractions)
        if plain and (len(automaton.states) <= ENDED_STATES or not automaton.is_endless()):
            automaton = _with_an_end(tuple(unlisted), fractions) or automaton
        written, more = automaton.spelling(f"{prefix}w" if prefix and number else prefix)
        if written != ir.NOTHING:
            found.append(written)
        rules.update(more)
    return found


def _listed_plainly(values: list[Rational]) -> list[ir.Expr]:
    """Return the plain spellings of single values: as digits, with a point, with an exponent."""
    whole: list[ir.Expr] = [ir.Literal(b"%d" % value) for value in values if type(value) is int]
    found = [d.choice(whole)] if whole else []
    decimal = [value for value in values if type(value) is not int]
    for value in decimal:
        places = _places(value)
        digits = str(int(value * 10**places)).rjust(places + 1, "0")
        found.append(ir.Literal(f"{digits[:-places]}.{digits[-places:]}".encode()))
        if value < _LEAST_PLAIN or value >= _LEAST_LARGE:
            power = scientific_value(int(value * 10**places), places)
            if power != ir.NOTHING:
                found.append(power)
    return found


def _listed(values: list[Rational], zeros: bool) -> list[ir.Expr]:
    """Return the spellings of single values: whole ones, then those with decimals."""
    whole = [ir.Literal(b"%d" % value) for value in values if type(value) is int]
    found: list[ir.Expr] = []
    if whole:
        found.append(d.sequence(d.choice([*whole]), d.fraction(0, zeros)))
    decimal: list[ir.Expr] = []
    for value in values:
        if zeros and value and (value >= _LEAST_LARGE or value < _LEAST_PLAIN):
            places = _places(value)
            power = scientific_value(int(value * 10**places), places)
            if power != ir.NOTHING:
                found.append(power)
        if type(value) is not int:
            places = _places(value)
            digits = str(int(value * 10**places)).rjust(places + 1, "0")
            decimal.append(ir.Literal(f"{digits[:-places]}.{digits[-places:]}".encode()))
    if decimal:
        found.append(d.sequence(d.choice(decimal), d.ZEROS))
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
