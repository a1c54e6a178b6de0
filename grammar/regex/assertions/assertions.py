"""Compile assertions away: anchors, word boundaries, lookahead and lookbehind become plain expressions.

First, alternatives that hold assertions are drawn apart, until the pattern is a union of flat sequences

    part, assertions, part, assertions, …, part

whose parts are plain expressions. What an assertion asks of the characters beside it then restricts the first or
last character of the parts there (a part that can be empty counts twice: once not empty, once left out).
A lookahead becomes an intersection with all that follows, a lookbehind with all that stands before. What
does not come apart this way (assertions in loops that look out of the loop, lookbehinds that overlap
lookaheads) goes to ``automaton.py``.
"""

from __future__ import annotations

from itertools import product
from typing import Final, cast

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, is_nothing
from stackmask.grammar.regex.assertions.assertion_resolution import (
    TRIVIAL,
    Flat,
    Tempered,
    TooEntangled,
    both,
    negated_side,
)
from stackmask.grammar.regex.assertions.contexts import concat, nullable
from stackmask.grammar.regex.assertions.loops import Loops
from stackmask.grammar.regex.pattern.tree import (
    ANYTHING,
    END,
    START,
    Edge,
    Look,
    Node,
    Pairs,
    Side,
    node_children,
    node_sequence,
    walk_nodes,
)

MAX_VARIANTS: Final = 128  # flat sequences of one branch of the pattern


class Assertions(Loops):
    """Compiles the trees of one pattern."""

    def __init__(self, as_bytes: bool, any_text: ir.Expr) -> None:
        super().__init__(as_bytes, any_text)
        self.known: dict[int, tuple[Node, Edge | Look | None]] = {}

    def compile(self, root: Node, search: bool, count: int) -> ir.Expr:
        """Return the whole texts that the tree, with so many assertions, matches (``search``: somewhere).

        Raises: TooEntangled.
        """
        straight = self.straight(root, search, count)
        if straight is not None:
            return straight
        branches: list[Node] = [*root.items] if isinstance(root, ir.Choice) else [root]
        free: list[Node] = [b for b in branches if self.assertion(b) is None]
        results: list[ir.Expr] = []
        if free:
            results.append(self.around(choice(cast("list[ir.Expr]", free)), search))
        for branch in branches:
            if self.assertion(branch) is not None:
                results += self.branch(branch, search)
        return choice(results)

    def around(self, expr: ir.Expr, search: bool) -> ir.Expr:
        """Return the expression with any text around it if asked."""
        return concat([self.any_text, expr, self.any_text]) if search else expr

    def straight(self, root: Node, search: bool, count: int) -> ir.Expr | None:
        """Return the whole texts of the usual case, anchors at the ends and nowhere else; None if it is not."""
        items: tuple[Node, ...] = root.items if isinstance(root, ir.Sequence) else (root,)
        first = isinstance(items[0], Edge) and items[0].pairs == START
        last = isinstance(items[-1], Edge) and items[-1].pairs == END
        if first + last != count or len(items) == 1:
            return None
        plain = cast("list[ir.Expr]", [*items[first : len(items) - last]])
        if search and not first:
            plain.insert(0, self.any_text)
        if search and not last:
            plain.append(self.any_text)
        return concat(plain)

    def branch(self, branch: Node, search: bool) -> list[ir.Expr]:
        """Return the whole texts of one branch."""
        straight = self.straight(branch, search, sum(isinstance(n, Edge | Look) for n in walk_nodes(branch)))
        if straight is not None:
            return [straight]
        edge: tuple[Node, ...] = (self.any_text,) if search else ()
        return [self.solve((*edge, *flat, *edge), False, False) for flat in self.variants(branch)]

    def assertion(self, node: Node) -> Edge | Look | None:
        """Return an assertion inside the node, or None."""
        known = self.known.get(id(node))
        if known is not None:
            return known[1]
        # children first; the keys are identities, so the nodes are kept
        order = [node]
        for current in order:
            order.extend(child for child in node_children(current) if id(child) not in self.known)
        for current in reversed(order):
            found = current if isinstance(current, Edge | Look) else None
            if found is None:
                below = (self.known[id(child)][1] for child in node_children(current))
                found = next((f for f in below if f is not None), None)
            self.known[id(current)] = (current, found)
        return self.known[id(node)][1]

    def variants(self, node: Node) -> list[Flat]:
        """Return flat sequences whose union is the node."""
        if self.assertion(node) is None:
            return [(node,)]
        match node:
            case Edge():
                return [(node,)]
            case Look():
                return self.look(node)
            case ir.Sequence(items):
                return self.joined([self.variants(item) for item in items], node)
            case ir.Choice(items):
                free = [item for item in items if self.assertion(item) is None]
                result: list[Flat] = [(choice(free),)] if free else []
                for item in items:
                    if self.assertion(item) is not None:
                        result += self.variants(item)
                return self.limited(result, node)
            case ir.Repeat(item, low, high):
                return self.loop(node, item, low, high)
        raise TypeError(f"not a node of a regex: {node!r}")

    def joined(self, parts: list[list[Flat]], node: Node) -> list[Flat]:
        """Return every way to take one sequence of each part."""
        count = 1
        for part in parts:
            count *= len(part)
            if count > MAX_VARIANTS:
                raise TooEntangled(self.assertion(node))
        return [tuple(item for flat in flats for item in flat) for flats in product(*parts)]

    def limited(self, flats: list[Flat], node: Node) -> list[Flat]:
        if len(flats) > MAX_VARIANTS:
            raise TooEntangled(self.assertion(node))
        return flats

    def look(self, look: Look) -> list[Flat]:
        """Return flat sequences for a lookahead or lookbehind; one character becomes a mere edge."""
        body, ahead = look.body, look.ahead
        if self.assertion(body) is None:
            plain = cast("ir.Expr", body)
            if nullable(plain):
                return [] if look.negative else [()]
            ranges = self.one_character(plain)
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
                behind = [self.rest_look(rest, look)] if rest else []
                result.append((*place, *behind))
            return self.limited(result, look)
        ways: list[list[Flat]] = []
        for place, rest in pulled:
            way: list[Flat] = [(self.opposite(assertion),) for assertion in place]
            if rest:
                way.append((self.rest_look(rest, look),))
            ways.append(way)
        return self.joined(ways, look)

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
                    full = self.restricted(part, self.contexts.any, ahead, look)
                    ways = [parts[1:]] if is_nothing(full) else [parts[1:], (full, *parts[1:])]
                    todo += ways if ahead else [way[::-1] for way in ways]
                    continue
            result.append(flat)
            self.limited(result, look)
        return result

    def rest_look(self, rest: Flat, look: Look) -> Node:
        """Return the look at the rest of a body, behind the assertions at the place itself."""
        nodes = self.untempered(rest, True)
        body = nodes[0] if len(nodes) == 1 else node_sequence(nodes)
        result = Look(body, look.ahead, look.negative, look.offset)
        self.assertion(result)
        flats = self.look(result) if self.assertion(body) is None else [(result,)]
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

    def look_texts(self, look: Look) -> ir.Expr:
        """Return the texts, from here on or up to here, in which the body of a look is found."""
        flats = self.variants(look.body)
        if look.ahead:
            return choice(self.solve((*flat, self.any_text), True, False) for flat in flats)
        return choice(self.solve((self.any_text, *flat), False, True) for flat in flats)
