"""Loops whose rounds ask about the character before them or behind them, with their counters kept.

A round with such an assertion at its edge is followed by another round, or preceded by one, or it is the first or the last.
Where all that can follow begins with a character that will do, or none of it does, the assertion is settled for every
round but the outermost ones:

    (?:w+\\b[ ,]?){m,n}   is   (?:w+[ ,]){m-1,n-1} w+\\b[ ,]?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, is_nothing, repeat
from stackmask.grammar.regex.assertions.assertion_resolution import (
    TRIVIAL,
    Flat,
    Joints,
    Tempered,
    TooEntangled,
    both,
)
from stackmask.grammar.regex.assertions.contexts import nullable
from stackmask.grammar.regex.pattern.tree import ANYTHING, Edge, Look, Pairs, Side

MAX_ROUNDS: Final = 16  # kinds of rounds, by what they ask for at their edges


@dataclass(frozen=True, slots=True)
class Round:
    """One kind of round: its texts, none of them empty, and what must stand before and behind them."""

    texts: ir.Expr
    before: Side
    after: Side


class Rounds(Joints):
    """Unrolls the outermost rounds of a loop."""

    def settled_rounds(self, flats: list[Flat], low: int, high: int | None, some: Edge | Look) -> list[Flat]:
        """Return flat sequences whose union is a repetition of rounds, given as flat sequences.

        Raises: TooEntangled where a round can be empty, or what its edges ask for depends on the neighbour.
        """
        kinds: dict[Round, None] = {}
        for flat in flats:
            for kind in self.kinds_of(flat, some):
                kinds[kind] = None
        if len(kinds) > MAX_ROUNDS:
            raise TooEntangled(some)
        rounds = list(kinds)
        followed = [r for r in rounds if self.allowed(r.after, rounds, True, some)]
        preceded = [r for r in rounds if self.allowed(r.before, followed, False, some)]
        middle = [r.texts for r in followed if r in preceded]
        result: list[Flat] = [()] if low == 0 else []
        if low <= 1:
            result += [(_edge(r.before, False, some), r.texts, _edge(r.after, True, some)) for r in rounds]
        if high is None or high > 1:
            most = None if high is None else high - 2
            inner = repeat(choice(middle), max(low - 2, 0), most) if middle else ir.EPSILON
            if middle or low <= 2:
                firsts, lasts = _grouped(followed, False), _grouped(preceded, True)
                result += [
                    (_edge(before, False, some), head, inner, tail, _edge(after, True, some))
                    for before, head in firsts.items()
                    for after, tail in lasts.items()
                ]
        return result

    def kinds_of(self, flat: Flat, some: Edge | Look) -> list[Round]:
        """Return the kinds of rounds that a flat sequence comes down to."""
        found: list[Round] = []
        todo = [flat]
        while todo:
            parts = todo.pop()
            if len(todo) > MAX_ROUNDS or not parts:
                raise TooEntangled(some)
            split = self.without_empty_ends(parts)
            if split is not None:
                todo += split
                continue
            begin, end = 0, len(parts)
            head: Pairs = TRIVIAL
            tail: Pairs = TRIVIAL
            while begin < end and isinstance(edge := parts[begin], Edge):
                head = both(head, edge.pairs)
                begin += 1
            while end > begin and isinstance(edge := parts[end - 1], Edge):
                tail = both(tail, edge.pairs)
                end -= 1
            if begin == end:
                raise TooEntangled(some)
            for before, first in head:
                for last, after in tail:
                    core = self.solve(
                        (Edge(((ANYTHING, first),)), *parts[begin:end], Edge(((last, ANYTHING),))), True, True
                    )
                    if nullable(core):
                        raise TooEntangled(some)
                    if not is_nothing(core):
                        found.append(Round(core, before, after))
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

    def allowed(self, side: Side, neighbours: list[Round], first: bool, some: Edge | Look) -> bool:
        """Tell whether all neighbouring rounds begin (``first``) or end with what the side asks for.

        Raises: TooEntangled if some do and some do not.
        """
        if side == ANYTHING:
            return True
        answers: set[bool] = set()
        for neighbour in neighbours:
            texts = self.restricted(neighbour.texts, side[0], first, some)
            if not is_nothing(texts) and texts != neighbour.texts:
                raise TooEntangled(some)
            answers.add(not is_nothing(texts))
        if len(answers) > 1:
            raise TooEntangled(some)
        return answers == {True}


def _edge(side: Side, right: bool, some: Edge | Look) -> Edge:
    pair = (ANYTHING, side) if right else (side, ANYTHING)
    return Edge((pair,), some.offset, some.what)


def _grouped(rounds: list[Round], by_after: bool) -> dict[Side, ir.Expr]:
    """Return the texts of rounds by what they ask for at one of their edges."""
    groups: dict[Side, list[ir.Expr]] = {}
    for kind in rounds:
        groups.setdefault(kind.after if by_after else kind.before, []).append(kind.texts)
    return {side: choice(texts) for side, texts in groups.items()}
