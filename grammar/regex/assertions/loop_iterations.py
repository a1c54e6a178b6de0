"""Loops whose iterations ask about the character before or after them, with their counters kept.

An iteration with such an assertion at its edge is followed or preceded by another one, or it is the first or the
last. Where all that can follow begins with a character that will do, or none of it does, the assertion is decided for
every iteration but the outermost ones:

    (?:w+\\b[ ,]?){m,n}   is   (?:w+[ ,]){m-1,n-1} w+\\b[ ,]?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, is_nothing, repeat
from stackmask.grammar.regex.assertions.assertion_resolution import JointSolver
from stackmask.grammar.regex.assertions.contexts import Contexts, nullable
from stackmask.grammar.regex.assertions.flat import TRIVIAL, Flat, Tempered, TooEntangled, both, restricted
from stackmask.grammar.regex.pattern.tree import ANYTHING, Edge, Look, Pairs, Side

MAX_ITERATIONS: Final = 16  # distinct iterations, by what they ask for at their edges


@dataclass(frozen=True, slots=True)
class Iteration:
    """One of the distinct iterations: its strings, none of them empty, and what must precede and follow them."""

    strings: ir.Expr
    before: Side
    after: Side


@final
class Iterations:
    """Unrolls the outermost iterations of a loop."""

    def __init__(self, contexts: Contexts, solver: JointSolver) -> None:
        self.contexts = contexts
        self.solver = solver

    def unrolled(self, flats: list[Flat], low: int, high: int | None, some: Edge | Look) -> list[Flat]:
        """Return flat sequences whose union is a repetition of iterations, given as flat sequences.

        Raises: TooEntangled where an iteration can be empty, or what its edges ask for depends on the neighbour.
        """
        distinct: dict[Iteration, None] = {}
        for flat in flats:
            for iteration in self.distinct_iterations(flat, some):
                distinct[iteration] = None
        if len(distinct) > MAX_ITERATIONS:
            raise TooEntangled(some)
        iterations = list(distinct)
        followed = [r for r in iterations if self.allowed(r.after, iterations, True, some)]
        preceded = [r for r in iterations if self.allowed(r.before, followed, False, some)]
        middle = [r.strings for r in followed if r in preceded]
        result: list[Flat] = [()] if low == 0 else []
        if low <= 1:
            result += [
                (_edge(r.before, False, some), r.strings, _edge(r.after, True, some)) for r in iterations
            ]
        if high is None or high > 1:
            most = None if high is None else high - 2
            inner = repeat(choice(middle), max(low - 2, 0), most) if middle else ir.EPSILON
            if middle or low <= 2:
                firsts, lasts = _grouped(followed, False), _grouped(preceded, True)
                result += [
                    (_edge(before, False, some), begin, inner, end, _edge(after, True, some))
                    for before, begin in firsts.items()
                    for after, end in lasts.items()
                ]
        return result

    def distinct_iterations(self, flat: Flat, some: Edge | Look) -> list[Iteration]:
        """Return the distinct iterations that a flat sequence comes down to."""
        found: list[Iteration] = []
        todo = [flat]
        while todo:
            parts = todo.pop()
            if len(todo) > MAX_ITERATIONS or not parts:
                raise TooEntangled(some)
            split = self.without_empty_ends(parts)
            if split is not None:
                todo += split
                continue
            begin, end = 0, len(parts)
            left: Pairs = TRIVIAL
            right: Pairs = TRIVIAL
            while begin < end and isinstance(edge := parts[begin], Edge):
                left = both(left, edge.pairs)
                begin += 1
            while end > begin and isinstance(edge := parts[end - 1], Edge):
                right = both(right, edge.pairs)
                end -= 1
            if begin == end:
                raise TooEntangled(some)
            for before, first in left:
                for last, after in right:
                    core = self.solver.solve(
                        (Edge(((ANYTHING, first),)), *parts[begin:end], Edge(((last, ANYTHING),))), True, True
                    )
                    if nullable(core):
                        raise TooEntangled(some)
                    if not is_nothing(core):
                        found.append(Iteration(core, before, after))
        return found

    def without_empty_ends(self, parts: Flat) -> list[Flat] | None:
        """Return the two cases of a part that can be empty between an assertion and an end; None if there is none."""
        for at, beside in ((0, 1), (len(parts) - 1, len(parts) - 2)):
            part = parts[at]
            is_beside = len(parts) > 1 and isinstance(parts[beside], Edge)
            if is_beside and not isinstance(part, Edge | Look | Tempered) and nullable(part):
                full = self.contexts.nonempty(part)
                rest = (*parts[:at], *parts[at + 1 :])
                return [rest] if is_nothing(full) else [rest, (*parts[:at], full, *parts[at + 1 :])]
        return None

    def allowed(self, side: Side, neighbours: list[Iteration], first: bool, some: Edge | Look) -> bool:
        """Return whether all neighbouring iterations begin (``first``) or end with what the side asks for.

        Raises: TooEntangled if some do and some do not.
        """
        if side == ANYTHING:
            return True
        answers: set[bool] = set()
        for neighbour in neighbours:
            strings = restricted(self.contexts, neighbour.strings, side[0], first, some)
            if not is_nothing(strings) and strings != neighbour.strings:
                raise TooEntangled(some)
            answers.add(not is_nothing(strings))
        if len(answers) > 1:
            raise TooEntangled(some)
        return answers == {True}


def _edge(side: Side, right: bool, some: Edge | Look) -> Edge:
    pair = (ANYTHING, side) if right else (side, ANYTHING)
    return Edge((pair,), some.offset, some.what)


def _grouped(iterations: list[Iteration], by_after: bool) -> dict[Side, ir.Expr]:
    """Return the strings of iterations by what they ask for at one of their edges."""
    groups: dict[Side, list[ir.Expr]] = {}
    for iteration in iterations:
        groups.setdefault(iteration.after if by_after else iteration.before, []).append(iteration.strings)
    return {side: choice(strings) for side, strings in groups.items()}
