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

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias, cast

from stackmask.grammar import ir
from stackmask.grammar.charclass import Ranges
from stackmask.grammar.normalize.build import choice, is_nothing
from stackmask.grammar.regex import sets
from stackmask.grammar.regex.contexts import CannotSplit, Contexts, concat, nullable
from stackmask.grammar.regex.reader import byte_class, char_class
from stackmask.grammar.regex.tree import ANYTHING, EDGE, END, START, Edge, Look, Node, Pairs, Side

MAX_VARIANTS: Final = 128  # flat sequences of one branch of the pattern
MAX_SPLITS: Final = 512  # restrictions of one flat sequence
MAX_UNROLLED: Final = 2  # rounds of a loop with assertions that are written out


@dataclass(frozen=True, slots=True)
class Tempered:
    """A loop over one character with lookaheads in every round: before its character, or behind it."""

    ranges: Ranges
    low: int
    high: int | None
    looks: tuple[Look, ...]
    before: bool


Flat: TypeAlias = "tuple[Node | Tempered, ...]"
TRIVIAL: Final[Pairs] = ((ANYTHING, ANYTHING),)


class TooEntangled(Exception):
    """Assertions that do not come apart; ``node`` is one of them."""

    def __init__(self, node: Edge | Look | None = None) -> None:
        super().__init__()
        self.node = node


def node_children(node: Node) -> tuple[Node, ...]:
    """Return the direct subexpressions, those of assertions included."""
    match node:
        case Look(body):
            return (body,)
        case Edge():
            return ()
        case ir.Repeat(item):
            return (item,)
        case ir.Sequence(items) | ir.Choice(items):
            return items
        case _:
            return ()


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield the node and all below it."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(node_children(current)))


class Assertions:
    """Compiles the trees of one pattern."""

    def __init__(self, as_bytes: bool, any_text: ir.Expr) -> None:
        self.contexts = Contexts(as_bytes)
        self.as_bytes = as_bytes
        self.any_text = any_text
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

    # drawing apart; recursion is as deep as groups are nested, which the reader limits

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
        # assertions that see nothing but their own round
        try:
            body = choice(self.solve(flat, True, True) for flat in self.variants(item))
        except TooEntangled as error:
            raise TooEntangled(error.node or edges[0]) from None
        return [(ir.Repeat(body, low, high),)]

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

    def untempered(self, flat: Flat, right_open: bool) -> Flat:
        """Return the flat sequence with its loops that have lookaheads in every round written as plain ones.

        What follows such a loop must not be able to begin with its character: then its rounds are the places up to
        where the run of these characters ends, and one lookahead before the loop speaks for all of them.
        Raises: TooEntangled.
        """
        if not any(isinstance(node, Tempered) for node in flat):
            return flat
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
                body = ir.Sequence(cast("tuple[Any, ...]", (run, bad, Edge(END))))
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

    def loop_of_anchors(self, item: Node, low: int, high: int | None) -> list[Flat]:
        """Unroll the first round for `^`, the last one for `$`; in between they cannot hold.

        Where a round can be empty at the edge, the rounds that are still missing there are.
        """
        pairs = END if any(e.pairs == END for e in walk_nodes(item) if isinstance(e, Edge)) else START
        other = START if pairs == END else END
        inner = without(item, {pairs: ir.NOTHING})
        empties = nullable(cast("ir.Expr", without(item, {pairs: ir.EPSILON, other: ir.NOTHING})))
        most = None if high is None else high - 1
        rounds = ir.Repeat(cast("ir.Expr", inner), 0 if empties else max(low - 1, 0), most)
        edge: list[Node] = [Edge(pairs)] if empties else []
        unrolled = [*edge, item, rounds] if pairs == START else [rounds, item, *edge]
        result = self.joined([self.variants(part) for part in unrolled], item)
        result += self.variants(ir.Repeat(cast("ir.Expr", inner), low, high))
        if nullable(cast("ir.Expr", without(item, {pairs: ir.EPSILON, other: ir.EPSILON}))):
            result.append((Edge(START), Edge(END)))
        return self.limited(result, item)

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
            pulled.append((cast("list[Edge | Look]", [*here]), rest))
        if not look.negative:
            result: list[Flat] = []
            for here, rest in pulled:
                behind = [self.rest_look(rest, look)] if rest else []
                result.append((*here, *behind))
            return self.limited(result, look)
        ways: list[list[Flat]] = []
        for here, rest in pulled:
            way: list[Flat] = [(self.opposite(assertion),) for assertion in here]
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
            if len(parts) > 1 and isinstance(parts[1], Edge) and not isinstance(parts[0], Edge | Look):
                part = cast("ir.Expr", parts[0])
                if nullable(part):
                    full = self.restricted(part, self.contexts.any, ahead, look)
                    ways = [parts[1:]] if is_nothing(full) else [parts[1:], (full, *parts[1:])]
                    todo += ways if ahead else [way[::-1] for way in ways]
                    continue
            result.append(flat)
            self.limited(result, look)
        return result

    def rest_look(self, rest: Flat, look: Look) -> Node:
        body: Node = rest[0] if len(rest) == 1 else ir.Sequence(cast("tuple[Any, ...]", rest))
        result = Look(body, look.ahead, look.negative, look.offset)
        self.assertion(result)
        flats = self.look(result) if self.assertion(body) is None else [(result,)]
        if len(flats) == 1 and len(flats[0]) == 1:
            return flats[0][0]
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
                    ranges = self.one_character(item)
                    if ranges is None:
                        return None
                    result = sets.union(result, ranges)
                return result
        return None

    # resolving one flat sequence

    def solve(self, flat: Flat, left_open: bool, right_open: bool) -> ir.Expr:
        """Return the strings of a flat sequence; an open side is not the edge of the text.

        Raises: TooEntangled.
        """
        flat = self.untempered(flat, right_open)
        parts: list[ir.Expr | None] = []
        joints: list[tuple[Pairs, tuple[Look, ...]]] = []
        pending: list[ir.Expr] = []
        pairs: Pairs = TRIVIAL
        looks: list[Look] = []
        asserted = False
        some: Edge | Look | None = None
        for item in (*flat, None):
            if isinstance(item, Edge):
                pairs, asserted, some = both(pairs, item.pairs), True, item
            elif isinstance(item, Look):
                looks.append(item)
                asserted, some = True, item
            else:
                if asserted:
                    parts.append(concat(pending))
                    joints.append((pairs, tuple(looks)))
                    pending, pairs, looks, asserted = [], TRIVIAL, [], False
                if item is not None:
                    pending.append(item)
        parts.append(concat(pending))
        todo = [(parts, joints)]
        results: list[ir.Expr] = []
        steps = 0
        while todo:
            steps += 1
            if steps > MAX_SPLITS:
                raise TooEntangled(some)
            split = self.split(*todo.pop(), left_open, right_open, some)
            if isinstance(split, list):
                todo += reversed(split)
            elif not is_nothing(split):
                results.append(split)
        return choice(results)

    def split(
        self,
        parts: list[ir.Expr | None],
        joints: list[tuple[Pairs, tuple[Look, ...]]],
        left_open: bool,
        right_open: bool,
        some: Edge | Look | None,
    ) -> ir.Expr | list[tuple[list[ir.Expr | None], list[tuple[Pairs, tuple[Look, ...]]]]]:
        """Take one step: the cases that the first open question comes down to, or the result."""
        last = len(parts) - 1
        for i, (pairs, looks) in enumerate(joints):
            if pairs == TRIVIAL:
                continue
            if not pairs:
                return []
            left, right = parts[i], parts[i + 1]
            if i == 0 and (left is None or left == ir.EPSILON):
                settled = self.at_edge(pairs, 0, left_open, some)
                if settled != pairs or left is not None:
                    return [([None, *parts[1:]], [(settled, looks), *joints[1:]])]
            if i + 1 == last and (right is None or right == ir.EPSILON):
                settled = self.at_edge(pairs, 1, right_open, some)
                if settled != pairs or right is not None:
                    return [([*parts[:-1], None], [*joints[:-1], (settled, looks)])]
            if pairs == TRIVIAL:
                continue
            for at, part in ((i, left), (i + 1, right)):
                if part == ir.EPSILON:  # the places on both sides of an empty part are one
                    (a, more), (b, others) = joints[at - 1], joints[at]
                    joint = (both(a, b), (*more, *others))
                    return [([*parts[:at], *parts[at + 1 :]], [*joints[: at - 1], joint, *joints[at + 1 :]])]
            cases = []
            for side, (at, part) in enumerate(((i, left), (i + 1, right))):
                if part is not None and nullable(part) and any(pair[side] != ANYTHING for pair in pairs):
                    cases.append(([*parts[:at], ir.EPSILON, *parts[at + 1 :]], joints))
            for before, after in pairs:
                # restricting leaves the empty string out
                new_left, new_right = left, right
                if left is not None and before != ANYTHING:
                    new_left = self.restricted(left, before[0], False, some)
                if right is not None and after != ANYTHING:
                    new_right = self.restricted(right, after[0], True, some)
                if any(part is not None and is_nothing(part) for part in (new_left, new_right)):
                    continue
                case = (
                    [*parts[:i], new_left, new_right, *parts[i + 2 :]],
                    [*joints[:i], (TRIVIAL, looks), *joints[i + 1 :]],
                )
                if new_left is left and new_right is right:
                    return [case]
                cases.append(case)
            return cases
        for _, looks in joints:
            for look in looks:
                if right_open if look.ahead else left_open:
                    raise TooEntangled(look)  # it sees more than this sequence
        return self.nested([part or ir.EPSILON for part in parts], [looks for _, looks in joints])

    def restricted(self, part: ir.Expr, ranges: Ranges, first: bool, some: Edge | Look | None) -> ir.Expr:
        """Return the strings of a part, none of them empty, with the right character at its end."""
        try:
            return self.contexts.begin(part, ranges) if first else self.contexts.end(part, ranges)
        except CannotSplit:
            raise TooEntangled(some) from None

    def at_edge(self, pairs: Pairs, side: int, is_open: bool, some: Edge | Look | None) -> Pairs:
        """Return the pairs that hold at the edge of the text."""
        if is_open:
            if any(pair[side] != ANYTHING for pair in pairs):
                raise TooEntangled(some)
            return pairs
        kept: dict[tuple[Side, Side], None] = {}
        for pair in pairs:
            if pair[side][1]:
                kept[(ANYTHING, pair[1]) if side == 0 else (pair[0], ANYTHING)] = None
        return TRIVIAL if TRIVIAL[0] in kept else tuple(kept)

    def nested(self, parts: list[ir.Expr], joints: list[tuple[Look, ...]]) -> ir.Expr:
        """Return the parts in order, lookaheads as intersections with what follows, lookbehinds with what precedes."""
        behind = max((i for i, looks in enumerate(joints) for k in looks if not k.ahead), default=-1)
        ahead = min((i for i, looks in enumerate(joints) for k in looks if k.ahead), default=len(joints))
        if behind > ahead:
            raise TooEntangled(next(k for k in joints[ahead] if k.ahead))
        suffix = parts[-1]
        for i in range(len(joints) - 1, ahead - 1, -1):
            suffix = self.looked(suffix, [look for look in joints[i] if look.ahead])
            if i > ahead:
                suffix = concat([parts[i], suffix])
        prefix = parts[0]
        for i, looks in enumerate(joints[: ahead + 1]):
            prefix = self.looked(prefix, [look for look in looks if not look.ahead])
            prefix = concat([prefix, parts[i + 1] if i < ahead else suffix])
        return prefix

    def looked(self, expr: ir.Expr, looks: list[Look]) -> ir.Expr:
        """Return the strings of an expression that the looks allow."""
        operands: list[ir.Expr] = [expr] if expr != self.any_text else []
        for look in looks:
            texts = self.look_texts(look)
            if look.negative:
                if self.any_text != ir.ANY_TEXT:  # `!` is about text
                    raise TooEntangled(look)
                texts = ir.Complement(texts)
            operands.append(texts)
        if not operands:
            return expr
        return operands[0] if len(operands) == 1 else ir.Intersection(tuple(operands))

    def look_texts(self, look: Look) -> ir.Expr:
        """Return the texts, from here on or up to here, in which the body of a look is found."""
        flats = self.variants(look.body)
        if look.ahead:
            return choice(self.solve((*flat, self.any_text), True, False) for flat in flats)
        return choice(self.solve((self.any_text, *flat), False, True) for flat in flats)


def both(left: Pairs, right: Pairs) -> Pairs:
    """Return the pairs of a place where both hold."""
    if left == TRIVIAL or left == right:
        return right
    if right == TRIVIAL:
        return left
    found: dict[tuple[Side, Side], None] = {}
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


def without(node: Node, replaced: dict[Pairs, ir.Expr]) -> Node:
    """Return the node with anchors replaced. Recursion is as deep as groups are nested."""
    match node:
        case Edge(pairs):
            return replaced.get(pairs, node)
        case ir.Sequence(items):
            parts = [without(item, replaced) for item in items]
            return ir.NOTHING if ir.NOTHING in parts else ir.Sequence(cast("tuple[Any, ...]", tuple(parts)))
        case ir.Choice(items):
            parts = [without(item, replaced) for item in items]
            return ir.Choice(cast("tuple[Any, ...]", tuple(p for p in parts if p != ir.NOTHING)))
        case ir.Repeat(item, low, high):
            inner = without(item, replaced)
            if inner == ir.NOTHING:
                return ir.EPSILON if low == 0 else ir.NOTHING
            return ir.Repeat(cast("ir.Expr", inner), low, high)
    return node


__all__ = ["EDGE", "Assertions", "TooEntangled", "node_children", "walk_nodes"]
