"""Flat sequences: parts and assertions in order, and what two sides of one place have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias, final

from stackmask.grammar import ir
from stackmask.grammar.regex.assertions.contexts import CannotSplit, Contexts
from stackmask.grammar.regex.pattern.tree import ANYTHING, Edge, Look, Node, Pairs, Side, node_children
from stackmask.grammar.regex.unicode import sets
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

MAX_VARIANTS: Final = 128  # flat sequences of one branch of the pattern

TRIVIAL: Final[Pairs] = ((ANYTHING, ANYTHING),)


class TooEntangled(Exception):
    """Assertions that do not come apart; ``node`` is one of them."""

    def __init__(self, node: Edge | Look | None = None) -> None:
        super().__init__()
        self.node = node


@dataclass(frozen=True, slots=True)
class Tempered:
    """A loop over one character with lookaheads in every iteration: before its character, or after it."""

    ranges: Ranges
    low: int
    high: int | None
    looks: tuple[Look, ...]
    before: bool


Flat: TypeAlias = "tuple[Node | Tempered, ...]"
Variants: TypeAlias = "Callable[[Node], list[Flat]]"  # a node to flat sequences whose union it is
LookStrings: TypeAlias = "Callable[[Look], ir.Expr]"  # a look to the strings in which its body is found


@final
class AssertionFinder:
    """Finds the assertions inside of nodes, each node once."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Node, Edge | Look | None]] = {}

    def assertion(self, node: Node) -> Edge | Look | None:
        """Return an assertion inside the node, or None."""
        known = self.known.get(id(node))
        if known is not None:
            return known[1]
        # children first; the keys are identities, so the nodes are kept
        order = [node]
        for current in order:
            spend(8)
            order.extend(child for child in node_children(current) if id(child) not in self.known)
        for current in reversed(order):
            found = current if isinstance(current, Edge | Look) else None
            if found is None:
                inner = (self.known[id(child)][1] for child in node_children(current))
                found = next((f for f in inner if f is not None), None)
            self.known[id(current)] = (current, found)
        return self.known[id(node)][1]

    def joined(self, parts: list[list[Flat]], node: Node) -> list[Flat]:
        """Return every way to take one sequence of each part."""
        count = 1
        for part in parts:
            count *= len(part)
            if count > MAX_VARIANTS:
                raise TooEntangled(self.assertion(node))
        spend(4 * count)
        return [tuple(item for flat in flats for item in flat) for flats in product(*parts)]

    def limited(self, flats: list[Flat], node: Node) -> list[Flat]:
        """Return the sequences. Raises: TooEntangled if they are too many."""
        if len(flats) > MAX_VARIANTS:
            raise TooEntangled(self.assertion(node))
        return flats


def restricted(
    contexts: Contexts,
    part: ir.Expr,
    ranges: Ranges,
    first: bool,
    some: Edge | Look | None,
    outer: bool = False,
) -> ir.Expr:
    """Return the strings of a part, none of them empty, with the right character at its end.

    ``outer``: its other end is the edge of the text.
    """
    try:
        return (contexts.begin if first else contexts.end)(part, ranges, outer)
    except CannotSplit:
        raise TooEntangled(some) from None


def both(left: Pairs, right: Pairs) -> Pairs:
    """Return the pairs of a place where both hold."""
    if left in (TRIVIAL, right):
        return right
    if right == TRIVIAL:
        return left
    found: dict[tuple[Side, Side], None] = {}
    spend(4 * len(left) * len(right))
    for a, b in left:
        for c, d in right:
            pair = (common_side(a, c), common_side(b, d))
            if pair[0] != ((), False) and pair[1] != ((), False):
                found[pair] = None
    return TRIVIAL if TRIVIAL[0] in found else tuple(found)


def common_side(a: Side, b: Side) -> Side:
    """Return what both sides allow."""
    return sets.intersect(a[0], b[0]), a[1] and b[1]


def negated_side(side: Side, universe: Ranges) -> Side:
    """Return what the side does not allow."""
    return sets.complement(side[0], universe), not side[1]
