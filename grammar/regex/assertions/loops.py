"""Loops with assertions in their rounds, where counters can be kept."""

from __future__ import annotations

from typing import Final, cast

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, is_nothing
from stackmask.grammar.regex.assertions.assertion_resolution import Flat, Tempered, TooEntangled
from stackmask.grammar.regex.assertions.contexts import CannotSplit, concat, nullable
from stackmask.grammar.regex.assertions.loop_iterations import Rounds
from stackmask.grammar.regex.pattern.reader import byte_class, char_class
from stackmask.grammar.regex.pattern.tree import (
    ANYTHING,
    EDGE,
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
from stackmask.grammar.regex.unicode import sets
from stackmask.grammar.source.charclass import Ranges

MAX_UNROLLED: Final = 2  # rounds of a loop with assertions that are written out


class Loops(Rounds):
    """Draws loops apart; a subclass does that for everything else."""

    def variants(self, node: Node) -> list[Flat]:
        """Return flat sequences whose union is the node."""
        raise AssertionError

    def joined(self, parts: list[list[Flat]], node: Node) -> list[Flat]:
        """Return every way to take one sequence of each part."""
        raise AssertionError

    def limited(self, flats: list[Flat], node: Node) -> list[Flat]:
        """Return the sequences if they are not too many."""
        raise AssertionError

    def assertion(self, node: Node) -> Edge | Look | None:
        """Return an assertion inside the node, or None."""
        raise AssertionError

    def loop(self, node: ir.Repeat, item: Node, low: int, high: int | None) -> list[Flat]:
        """Return flat sequences whose union is a repetition with assertions inside."""
        if high is not None and high <= MAX_UNROLLED:
            once = self.variants(item)
            result: list[Flat] = []
            for count in range(low, high + 1):
                result += self.joined([once] * count, item)
            return self.limited(result, node)
        edges = [e for e in walk_nodes(item) if isinstance(e, Edge | Look)]
        if all(isinstance(e, Edge) and e.pairs in (START, END) for e in edges):
            return self.loop_of_anchors(item, low, high)
        tempered = self.tempered(item, low, high)
        if tempered is not None:
            return [(tempered,)]
        flats = self.variants(item)
        try:  # assertions that see nothing but their own round
            body = choice(self.solve(flat, True, True) for flat in flats)
        except TooEntangled as error:
            some = error.node or edges[0]
        else:
            return [(ir.Repeat(body, low, high),)]
        try:  # assertions that see no more than one character of the next round
            return self.limited(self.settled_rounds(flats, low, high, some), item)
        except CannotSplit:
            raise TooEntangled(some) from None

    def loop_of_anchors(self, item: Node, low: int, high: int | None) -> list[Flat]:
        """Unroll the first round for `^`, the last one for `$`; in between they cannot hold.

        Where a round can be empty at the edge, the rounds that are still missing there are.
        """
        pairs = END if any(e.pairs == END for e in walk_nodes(item) if isinstance(e, Edge)) else START
        other = START if pairs == END else END
        inner = without(item, {pairs: ir.NOTHING})
        empties = nullable(cast("ir.Expr", without(item, {pairs: ir.EPSILON, other: ir.NOTHING})))
        most = None if high is None else high - 1
        rounds = node_repeat(inner, 0 if empties else max(low - 1, 0), most)
        edge: list[Node] = [Edge(pairs)] if empties else []
        unrolled = [*edge, item, rounds] if pairs == START else [rounds, item, *edge]
        result = self.joined([self.variants(part) for part in unrolled], item)
        result += self.variants(node_repeat(inner, low, high))
        if nullable(cast("ir.Expr", without(item, {pairs: ir.EPSILON, other: ir.EPSILON}))):
            result.append((Edge(START), Edge(END)))
        return self.limited(result, item)

    def tempered(self, item: Node, low: int, high: int | None) -> Tempered | None:
        """Return a loop over one character with lookaheads on one side of it, such as ``(?:(?!x).)*``."""
        flats = self.variants(item)
        if len(flats) != 1 or len(flats[0]) < 2:
            return None
        flat = flats[0]
        before = not isinstance(flat[-1], Edge | Look)
        character = flat[-1] if before else flat[0]
        looks: list[Look] = []
        for node in flat[:-1] if before else flat[1:]:
            if isinstance(node, Edge) and len(node.pairs) == 1 and node.pairs[0][0] == ANYTHING:
                ranges, end = node.pairs[0][1]  # a lookahead of one character
                body = self.one_of(sets.complement(ranges, self.contexts.any) if end else ranges)
                looks.append(Look(body, True, end, node.offset))
            elif isinstance(node, Look) and node.ahead:
                looks.append(node)
            else:
                return None
        if isinstance(character, Edge | Look | Tempered):
            return None
        ranges_of_it = self.one_character(character)
        if ranges_of_it is None:
            return None
        return Tempered(ranges_of_it, low, high, tuple(looks), before)

    def one_of(self, ranges: Ranges) -> ir.Expr:
        """Return the expression of one character out of the ranges."""
        return byte_class(ranges) if self.as_bytes else char_class(ranges)

    def untempered(self, flat: Flat, right_open: bool) -> tuple[Node, ...]:
        """Return the flat sequence with its loops that have lookaheads in every round written as plain ones.

        What follows such a loop must not be able to begin with its character: then its rounds are the places up to
        where the run of these characters ends, and one lookahead before the loop speaks for all of them.
        Raises: TooEntangled.
        """
        result: list[Node] = []
        for at, node in enumerate(flat):
            if not isinstance(node, Tempered):
                result.append(node)
                continue
            if not self.ends_run(flat[at + 1 :], node.ranges, right_open):
                raise TooEntangled(node.looks[0])
            one = self.one_of(node.ranges)
            for look in node.looks:
                # no place of the run may be bad: in front of a round (?!c*(?=c)x), behind one (?!c+x)
                bad = self.look_texts(look)
                if not look.negative:
                    if self.any_text != ir.ANY_TEXT:
                        raise TooEntangled(look)
                    bad = ir.Complement(bad)
                if node.before:
                    bad = ir.Intersection((concat([one, self.any_text]), bad))
                run = ir.Repeat(one, 0 if node.before else 1, None)
                body = node_sequence((run, bad, Edge(END)))
                everywhere = Look(body, True, True, look.offset)
                self.assertion(everywhere)
                result.append(everywhere)
            result.append(ir.Repeat(one, node.low, node.high))
        return tuple(result)

    def ends_run(self, behind: Flat, ranges: Ranges, right_open: bool) -> bool:
        """Tell whether what follows cannot begin with one of the characters."""
        for node in behind:
            if isinstance(node, Edge):
                if all(right == EDGE for _, right in node.pairs):
                    return True
            elif isinstance(node, Tempered):
                if sets.intersect(node.ranges, ranges):
                    return False
                if node.low > 0:
                    return True
            elif not isinstance(node, Look):
                if not is_nothing(self.restricted(node, ranges, True, None)):
                    return False
                if not nullable(node):
                    return True
        return not right_open

    def one_character(self, expr: ir.Expr) -> Ranges | None:
        """Return the ranges of an expression that is always exactly one character."""
        match expr:
            case ir.CharClass(ranges):
                return ranges
            case ir.ByteClass(mask) if self.as_bytes:
                return sets.ranges_of(mask)
            case ir.Literal(data):
                text = data.decode("latin-1" if self.as_bytes else "utf-8", "ignore")
                return ((ord(text), ord(text)),) if len(text) == 1 else None
            case ir.Choice(items) if items:
                result: Ranges = ()
                for item in items:
                    one = self.one_character(item)
                    if one is None:
                        return None
                    result = sets.union(result, one)
                return result
        return None


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
