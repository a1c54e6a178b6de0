"""Compile assertions away: anchors, word boundaries, lookahead and lookbehind become plain expressions.

First, alternatives that hold assertions are split, until the pattern is a union of flat sequences

    part, assertions, part, assertions, …, part

whose parts are plain expressions. What an assertion asks of the characters beside it then restricts the first or
last character of the parts there (a part that can be empty counts twice: once not empty, once left out).
A lookahead becomes an intersection with all that follows, a lookbehind with all that precedes. What
does not come apart this way (assertions in loops that look out of the loop, lookbehinds that overlap
lookaheads) goes to ``automaton.py``.
"""

from __future__ import annotations

from typing import cast, final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice
from stackmask.grammar.regex.assertions.assertion_resolution import JointSolver
from stackmask.grammar.regex.assertions.contexts import Contexts, concat
from stackmask.grammar.regex.assertions.flat import AssertionFinder, Flat
from stackmask.grammar.regex.assertions.lookarounds import Lookarounds
from stackmask.grammar.regex.assertions.loop_iterations import Iterations
from stackmask.grammar.regex.assertions.loops import Loops
from stackmask.grammar.regex.assertions.tempered import TemperedLoops
from stackmask.grammar.regex.pattern.tree import END, START, Edge, Look, Node, walk_nodes


@final
class Assertions:
    """Compiles the trees of one pattern."""

    def __init__(self, as_bytes: bool, any_text: ir.Expr) -> None:
        self.any_text = any_text
        self.finder = AssertionFinder()
        contexts = Contexts(as_bytes)
        # lookarounds hold patterns of their own, so what reads a body is handed down to the parts
        tempered = TemperedLoops(contexts, any_text, self.finder, self.look_strings)
        self.solver = JointSolver(contexts, any_text, tempered, self.look_strings)
        iterations = Iterations(contexts, self.solver)
        self.loops = Loops(self.finder, self.solver, tempered, iterations, self.variants)
        self.lookarounds = Lookarounds(contexts, self.finder, tempered, self.variants)

    def compile(self, root: Node, search: bool) -> ir.Expr:
        """Return the whole texts that the tree matches (``search``: somewhere).

        Raises: TooEntangled.
        """
        branches: list[Node] = [*root.items] if isinstance(root, ir.Choice) else [root]
        free: list[Node] = [b for b in branches if self.finder.assertion(b) is None]
        results: list[ir.Expr] = []
        if free:
            results.append(self.around(choice(cast("list[ir.Expr]", free)), search))
        for branch in branches:
            if self.finder.assertion(branch) is not None:
                results += self.branch(branch, search)
        return choice(results)

    def around(self, expr: ir.Expr, search: bool) -> ir.Expr:
        """Return the expression with any text around it if asked."""
        return concat([self.any_text, expr, self.any_text]) if search else expr

    def branch(self, branch: Node, search: bool) -> list[ir.Expr]:
        """Return the whole texts of one branch."""
        count = sum(isinstance(n, Edge | Look) for n in walk_nodes(branch))
        plain = straight(branch, search, count, self.any_text)
        if plain is not None:
            return [plain]
        edge: tuple[Node, ...] = (self.any_text,) if search else ()
        return [self.solver.solve((*edge, *flat, *edge), False, False) for flat in self.variants(branch)]

    def variants(self, node: Node) -> list[Flat]:
        """Return flat sequences whose union is the node."""
        if self.finder.assertion(node) is None:
            return [(node,)]
        match node:
            case Edge():
                return [(node,)]
            case Look():
                return self.lookarounds.split(node)
            case ir.Sequence(items):
                return self.finder.joined([self.variants(item) for item in items], node)
            case ir.Choice(items):
                free = [item for item in items if self.finder.assertion(item) is None]
                result: list[Flat] = [(choice(free),)] if free else []
                for item in items:
                    if self.finder.assertion(item) is not None:
                        result += self.variants(item)
                return self.finder.limited(result, node)
            case ir.Repeat(item, low, high):
                return self.loops.split(node, item, low, high)
        raise TypeError(f"not a node of a regex: {node!r}")

    def look_strings(self, look: Look) -> ir.Expr:
        """Return the strings, from here on or up to here, in which the body of a look is found."""
        flats = self.variants(look.body)
        if look.ahead:
            return choice(self.solver.solve((*flat, self.any_text), True, False) for flat in flats)
        return choice(self.solver.solve((self.any_text, *flat), False, True) for flat in flats)


def straight(root: Node, search: bool, count: int, any_text: ir.Expr) -> ir.Expr | None:
    """Return the whole texts of the usual case, anchors at the ends and nowhere else; None if it is not."""
    items: tuple[Node, ...] = root.items if isinstance(root, ir.Sequence) else (root,)
    first = isinstance(items[0], Edge) and items[0].pairs == START
    last = isinstance(items[-1], Edge) and items[-1].pairs == END
    if first + last != count or len(items) == 1:
        return None
    plain = cast("list[ir.Expr]", [*items[first : len(items) - last]])
    if search and not first:
        plain.insert(0, any_text)
    if search and not last:
        plain.append(any_text)
    return concat(plain)


def compile_assertions(root: Node, search: bool, count: int, as_bytes: bool, any_text: ir.Expr) -> ir.Expr:
    """Return the whole texts that the tree, with so many assertions, matches (``search``: somewhere).

    Raises: TooEntangled.
    """
    plain = straight(root, search, count, any_text)
    return Assertions(as_bytes, any_text).compile(root, search) if plain is None else plain
