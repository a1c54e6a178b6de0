"""Plain spellings of sets with multiples: an automaton over digits, as expressions and rules.

For bounds alone ``decimals`` is enough. A multiple of 7 or of 0.25 needs to know the digits before it, so the
set is read digit by digit: a state is what remains possible after a prefix (a *residual*), scaled to whole
numbers. Before the point it is not known how many digits follow, so a state there holds a residual for each
length. Beyond the last bound only the multiples count: those of 2 and 5 look at the last digits alone, the
others need remainders, whose states call each other and so become rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import lcm
from typing import Final, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.json_schema.sets.numbers import UnsupportedNumber
from stackmask.grammar.json_schema.write.numbers import decimals as d
from stackmask.grammar.languages.automaton import reaching
from stackmask.grammar.source.work import spend

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

    # -- expressions ---------------------------------------------------------------------------------------

    def spelling(self, prefix: str | None) -> tuple[ir.Expr, dict[str, ir.Expr]]:
        """Return the expression of the automaton and the rules that it calls.

        ``prefix``: of the names of rules; None for an expression without rules.
        Raises: UnsupportedNumber without rules, where remainders or too many parts need them.
        """
        return _Writer(self, prefix).write()


class _Writer:
    """Writes the states as expressions, inner ones first; cycles and large shared ones become rules."""

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
        return (d.choice(found) if found else ir.NOTHING), self.rules

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
        expr = d.choice(items)
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
