"""Lookarounds as flat sequences: those at one character as edges, and assertions inside of others pulled out."""

from __future__ import annotations

from typing import cast, final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import is_nothing
from stackmask.grammar.regex.assertions.contexts import Contexts, nullable
from stackmask.grammar.regex.assertions.flat import (
    TRIVIAL,
    AssertionFinder,
    Flat,
    Tempered,
    Variants,
    both,
    negated_side,
    restricted,
)
from stackmask.grammar.regex.assertions.tempered import TemperedLoops
from stackmask.grammar.regex.pattern.tree import ANYTHING, Edge, Look, Node, Pairs, Side, node_sequence
from stackmask.grammar.source.work import spend


@final
class Lookarounds:
    """Splits lookarounds into flat sequences."""

    def __init__(
        self, contexts: Contexts, finder: AssertionFinder, tempered: TemperedLoops, variants: Variants
    ) -> None:
        self.contexts = contexts
        self.finder = finder
        self.tempered = tempered
        self.variants = variants

    def split(self, look: Look) -> list[Flat]:
        """Return flat sequences for a lookahead or lookbehind; one character becomes a mere edge."""
        body, ahead = look.body, look.ahead
        spend(20)
        if self.finder.assertion(body) is None:
            plain = cast("ir.Expr", body)
            if nullable(plain):
                return [] if look.negative else [()]
            ranges = self.tempered.one_character(plain)
            if ranges is not None:
                side: Side = (ranges, False)
                if look.negative:
                    side = negated_side(side, self.contexts.any)
                pair = (ANYTHING, side) if ahead else (side, ANYTHING)
                return [(Edge((pair,), look.offset, look.what),)]
            return [(look,)]
        # assertions at the place itself are pulled out: (?=^x) is ^(?=x), (?!^x) is (?!^)|(?!x)
        pulled: list[tuple[list[Edge | Look], Flat]] = []
        for flat in self.parted(body, ahead, look):
            count = 0
            while count < len(flat) and isinstance(flat[count if ahead else -1 - count], Edge | Look):
                count += 1
            here, rest = (
                (flat[:count], flat[count:])
                if ahead
                else (flat[len(flat) - count :], flat[: len(flat) - count])
            )
            pulled.append(([a for a in here if isinstance(a, Edge | Look)], rest))
        if not look.negative:
            result: list[Flat] = []
            for place, rest in pulled:
                others = [self.remaining_look(rest, look)] if rest else []
                result.append((*place, *others))
            return self.finder.limited(result, look)
        ways: list[list[Flat]] = []
        for place, rest in pulled:
            way: list[Flat] = [(self.opposite(assertion),) for assertion in place]
            if rest:
                way.append((self.remaining_look(rest, look),))
            ways.append(way)
        return self.finder.joined(ways, look)

    def parted(self, body: Node, ahead: bool, look: Look) -> list[Flat]:
        """Return the flat sequences of a body, none with a part that can be empty between the place and an edge."""
        result: list[Flat] = []
        todo = list(reversed(self.variants(body)))
        while todo:
            flat = todo.pop()
            parts = flat if ahead else flat[::-1]
            if len(parts) > 1 and isinstance(parts[1], Edge):
                part = parts[0]
                if not isinstance(part, Edge | Look | Tempered) and nullable(part):
                    full = restricted(self.contexts, part, self.contexts.any, ahead, look)
                    ways = [parts[1:]] if is_nothing(full) else [parts[1:], (full, *parts[1:])]
                    todo += ways if ahead else [way[::-1] for way in ways]
                    continue
            result.append(flat)
            self.finder.limited(result, look)
        return result

    def remaining_look(self, rest: Flat, look: Look) -> Node:
        """Return the look at the rest of a body, after the assertions at the place itself."""
        nodes = self.tempered.written_out(rest, True)
        body = nodes[0] if len(nodes) == 1 else node_sequence(nodes)
        result = Look(body, look.ahead, look.negative, look.offset)
        self.finder.assertion(result)
        flats = self.split(result) if self.finder.assertion(body) is None else [(result,)]
        if len(flats) == 1 and len(flats[0]) == 1 and isinstance(only := flats[0][0], Edge | Look):
            return only
        return Edge(TRIVIAL) if flats else Edge(())

    def opposite(self, assertion: Edge | Look) -> Node:
        """Return the assertion that holds where this one does not."""
        if isinstance(assertion, Look):
            return Look(assertion.body, assertion.ahead, not assertion.negative, assertion.offset)
        result: Pairs = TRIVIAL
        for left, right in assertion.pairs:
            options = (
                (negated_side(left, self.contexts.any), ANYTHING),
                (ANYTHING, negated_side(right, self.contexts.any)),
            )
            result = both(result, options)
        return Edge(result, assertion.offset, assertion.what)
