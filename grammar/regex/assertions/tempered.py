"""Tempered loops: one character repeated, with lookaheads in every iteration, such as ``(?:(?!x).)*``."""

from __future__ import annotations

from typing import final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import is_nothing
from stackmask.grammar.regex.assertions.contexts import Contexts, concat, nullable
from stackmask.grammar.regex.assertions.flat import (
    AssertionFinder,
    Flat,
    LookStrings,
    Tempered,
    TooEntangled,
    restricted,
)
from stackmask.grammar.regex.pattern.reader import byte_class, char_class
from stackmask.grammar.regex.pattern.tree import ANYTHING, EDGE, END, Edge, Look, Node, node_sequence
from stackmask.grammar.regex.unicode import sets
from stackmask.grammar.source.charclass import Ranges


@final
class TemperedLoops:
    """Recognises tempered loops, and writes them as plain ones."""

    def __init__(
        self, contexts: Contexts, any_text: ir.Expr, finder: AssertionFinder, look_strings: LookStrings
    ) -> None:
        self.contexts = contexts
        self.any_text = any_text
        self.finder = finder
        self.look_strings = look_strings

    def recognized(self, flats: list[Flat], low: int, high: int | None) -> Tempered | None:
        """Return a loop over one character with lookaheads on one side of it, such as ``(?:(?!x).)*``."""
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

    def written_out(self, flat: Flat, right_open: bool) -> tuple[Node, ...]:
        """Return the flat sequence with its loops that have lookaheads in every round written as plain ones.

        What follows such a loop must not be able to begin with its character: then its iterations are the places up to
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
                # no place of the run may be bad: before an iteration (?!c*(?=c)x), after one (?!c+x)
                bad = self.look_strings(look)
                if not look.negative:
                    if self.any_text != ir.ANY_TEXT:
                        raise TooEntangled(look)
                    bad = ir.Complement(bad)
                if node.before:
                    bad = ir.Intersection((concat([one, self.any_text]), bad))
                run = ir.Repeat(one, 0 if node.before else 1, None)
                body = node_sequence((run, bad, Edge(END)))
                everywhere = Look(body, True, True, look.offset)
                self.finder.assertion(everywhere)
                result.append(everywhere)
            result.append(ir.Repeat(one, node.low, node.high))
        return tuple(result)

    def one_of(self, ranges: Ranges) -> ir.Expr:
        """Return the expression of one character out of the ranges."""
        return byte_class(ranges) if self.contexts.as_bytes else char_class(ranges)

    def ends_run(self, following: Flat, ranges: Ranges, right_open: bool) -> bool:
        """Return whether what follows cannot begin with one of the characters."""
        for node in following:
            if isinstance(node, Edge):
                if all(right == EDGE for _, right in node.pairs):
                    return True
            elif isinstance(node, Tempered):
                if sets.intersect(node.ranges, ranges):
                    return False
                if node.low > 0:
                    return True
            elif not isinstance(node, Look):
                if not is_nothing(restricted(self.contexts, node, ranges, True, None)):
                    return False
                if not nullable(node):
                    return True
        return not right_open

    def one_character(self, expr: ir.Expr) -> Ranges | None:
        """Return the ranges of an expression that is always exactly one character."""
        match expr:
            case ir.CharClass(ranges):
                return ranges
            case ir.ByteClass(mask) if self.contexts.as_bytes:
                return sets.ranges_of(mask)
            case ir.Literal(data):
                text = data.decode("latin-1" if self.contexts.as_bytes else "utf-8", "ignore")
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
