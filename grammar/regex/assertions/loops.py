"""Loops with assertions in their iterations, where counters can be kept."""

from __future__ import annotations

from typing import Final, cast, final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice
from stackmask.grammar.regex.assertions.assertion_resolution import JointSolver
from stackmask.grammar.regex.assertions.contexts import CannotSplit, nullable
from stackmask.grammar.regex.assertions.flat import AssertionFinder, Flat, TooEntangled, Variants
from stackmask.grammar.regex.assertions.loop_iterations import Iterations
from stackmask.grammar.regex.assertions.tempered import TemperedLoops
from stackmask.grammar.regex.pattern.tree import (
    END,
    START,
    Edge,
    Look,
    Node,
    Pairs,
    node_choice,
    node_repeat,
    node_sequence,
    walk_nodes,
)

MAX_UNROLLED: Final = 2  # iterations of a loop with assertions that are written out


@final
class Loops:
    """Splits loops into flat sequences."""

    def __init__(
        self,
        finder: AssertionFinder,
        solver: JointSolver,
        tempered: TemperedLoops,
        iterations: Iterations,
        variants: Variants,
    ) -> None:
        self.finder = finder
        self.solver = solver
        self.tempered = tempered
        self.iterations = iterations
        self.variants = variants

    def split(self, node: ir.Repeat, item: Node, low: int, high: int | None) -> list[Flat]:
        """Return flat sequences whose union is a repetition with assertions inside."""
        if high is not None and high <= MAX_UNROLLED:
            once = self.variants(item)
            result: list[Flat] = []
            for count in range(low, high + 1):
                result += self.finder.joined([once] * count, item)
            return self.finder.limited(result, node)
        edges = [e for e in walk_nodes(item) if isinstance(e, Edge | Look)]
        if all(isinstance(e, Edge) and e.pairs in (START, END) for e in edges):
            return self.loop_of_anchors(item, low, high)
        flats = self.variants(item)
        tempered = self.tempered.recognized(flats, low, high)
        if tempered is not None:
            return [(tempered,)]
        try:  # assertions that see nothing but their own iteration
            body = choice(self.solver.solve(flat, True, True) for flat in flats)
        except TooEntangled as error:
            some = error.node or edges[0]
        else:
            return [(ir.Repeat(body, low, high),)]
        try:  # assertions that see no more than one character of the next iteration
            return self.finder.limited(self.iterations.unrolled(flats, low, high, some), item)
        except CannotSplit:
            raise TooEntangled(some) from None

    def loop_of_anchors(self, item: Node, low: int, high: int | None) -> list[Flat]:
        """Unroll the first iteration for `^`, the last one for `$`; in between they cannot hold.

        Where an iteration can be empty at the edge, the iterations that are still missing there are.
        """
        pairs = END if any(e.pairs == END for e in walk_nodes(item) if isinstance(e, Edge)) else START
        other = START if pairs == END else END
        inner = without(item, {pairs: ir.NOTHING})
        empties = nullable(cast("ir.Expr", without(item, {pairs: ir.EPSILON, other: ir.NOTHING})))
        most = None if high is None else high - 1
        iterations = node_repeat(inner, 0 if empties else max(low - 1, 0), most)  # mutant: missing-rounds
        edge: list[Node] = [Edge(pairs)] if empties else []
        unrolled = [*edge, item, iterations] if pairs == START else [iterations, item, *edge]
        result = self.finder.joined([self.variants(part) for part in unrolled], item)
        result += self.variants(node_repeat(inner, low, high))
        if nullable(cast("ir.Expr", without(item, {pairs: ir.EPSILON, other: ir.EPSILON}))):
            result.append((Edge(START), Edge(END)))
        return self.finder.limited(result, item)


def without(node: Node, replaced: dict[Pairs, ir.Expr]) -> Node:
    """Return the node with anchors replaced. Recursion is as deep as groups are nested."""
    match node:
        case Edge(pairs):
            return replaced.get(pairs, node)
        case ir.Sequence(items):
            parts = [without(item, replaced) for item in items]
            return ir.NOTHING if ir.NOTHING in parts else node_sequence(parts)
        case ir.Choice(items):
            parts = [without(item, replaced) for item in items]
            return node_choice(p for p in parts if p != ir.NOTHING)
        case ir.Repeat(item, low, high):
            inner = without(item, replaced)
            if inner == ir.NOTHING:
                return ir.EPSILON if low == 0 else ir.NOTHING
            return node_repeat(inner, low, high)
    return node
