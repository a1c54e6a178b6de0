"""Compile assertions to plain expressions: anchors, word boundaries, lookahead and lookbehind.

The pattern becomes a graph: a part without assertions is an edge with its expression, and each assertion an
edge between two positions. Anchors and word boundaries depend on the two characters around a position. So
each position is split into several states, one for each kind of last and next character that matters from
there on. An assertion then either holds between two such states or does not, and expressions between them are
restricted to strings that begin and end with the right kinds. Counters are kept if all rounds between the
first and the last lead from one state to itself.

Without other lookarounds, the states are eliminated. A lookahead is an intersection with the continuation, a
lookbehind an intersection with the preceding text. ``automaton.py`` handles patterns that cannot be split
this way: lookarounds inside loops, or lookbehinds after lookaheads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias, cast, final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, is_nothing, repeat
from stackmask.grammar.languages.automaton import Graph, either, eliminate, reaching
from stackmask.grammar.languages.classes import (
    TooLarge,
    byte_class,
    char_class,
    classes_of,
    complement,
    ranges_of,
)
from stackmask.grammar.languages.ends import INVALID, CannotSplit, Ends
from stackmask.grammar.languages.forms import concat, nullable
from stackmask.grammar.regex.pattern.tree import (
    ANYTHING,
    Edge,
    Look,
    Node,
    Side,
    TooEntangled,
    node_children,
    node_choice,
    node_sequence,
    rebuilt,
    straight,
    walk_nodes,
)
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import remembering, spend

MAX_EDGES: Final = 4_000  # of a graph, with the copies of rounds
MAX_KINDS: Final = 400  # of characters
MAX_LOOKS: Final = 100  # in one graph
FIRST, LAST = 0, 1  # places

Kinds: TypeAlias = frozenset[int]
Parts: TypeAlias = tuple[int, ...]  # kind of character → which part of all kinds it is in
State: TypeAlias = tuple[int, int, int]  # a place, and the parts of the last and the next character


class AskedLook(NamedTuple):
    """A lookaround as an edge, with the required strings to the end, or from the start, by adjacent character."""

    strings: Callable[[Kinds], ir.Expr]
    look: Look
    negative: bool
    beside: Parts  # which last (of a lookbehind: next) characters make a difference


class Unless(NamedTuple):
    """An edge for nothing if the next character is none of these; otherwise the pattern cannot be split."""

    kinds: Kinds
    look: Look


class Counted(NamedTuple):
    """Counted rounds, with the position where they begin and end, their edges, and their number."""

    place: int
    first: int
    past: int
    low: int
    high: int | None
    some: Edge | Look | None


Label: TypeAlias = "ir.Expr | Edge | Look | AskedLook | Unless"  # a look: an edge that does not hold


def compile_assertions(root: Node, search: bool, as_bytes: bool, any_text: ir.Expr) -> ir.Expr:
    """Return the texts that the tree matches as a whole (``search``: in part).

    Raises: TooEntangled.
    """
    branches: list[Node] = [*root.items] if isinstance(root, ir.Choice) else [root]
    free: list[ir.Expr] = []
    results: list[ir.Expr] = []
    entangled: list[Node] = []
    some: TooEntangled | None = None
    for branch in branches:
        count = sum(isinstance(node, Edge | Look) for node in walk_nodes(branch))
        if not count:
            free.append(cast("ir.Expr", branch))
            continue
        plain = straight(branch, search, count, any_text)
        if plain is None:
            pattern = AssertedPattern(branch, as_bytes, any_text)
            try:
                plain = apart(pattern, search)
            except TooEntangled as error:
                some = error
                entangled.append(pattern.root)
                continue
        results.append(plain)
    if free:
        results.insert(0, concat([any_text, choice(free), any_text]) if search else choice(free))
    if some is not None:
        from stackmask.grammar.regex.automaton import automaton_expr  # few patterns need it

        try:
            results.append(automaton_expr(node_choice(entangled), search, any_text != ir.ANY_TEXT))
        except TooLarge:
            raise some from None
    return choice(result for result in results if not is_nothing(result))


def apart(pattern: AssertedPattern, search: bool) -> ir.Expr:
    """Return the texts that a pattern matches as a whole. Raises: TooEntangled."""
    text = pattern.any_text
    try:
        return Places(pattern, (text, pattern.root, text) if search else (pattern.root,)).solve()
    except (TooLarge, CannotSplit):
        raise TooEntangled(pattern.assertion(pattern.root)) from None


class Sides:
    """The kinds of characters, and the edge of the text, that one side of assertions distinguishes."""

    def __init__(self, wanted: tuple[Ranges, ...], universe: Ranges) -> None:
        self.classes, self.members = classes_of(wanted, universe, MAX_KINDS)
        self.edge = len(self.classes)
        self.characters: Kinds = frozenset(range(self.edge))
        self.all: Kinds = self.characters | {self.edge}
        self.alike: Parts = (0,) * len(self.all)
        self.known: dict[Kinds, Ranges] = {}

    def kinds(self, side: Side) -> Kinds:
        """Return the kinds that a side requires."""
        ranges, edge = side
        if ranges == charclass.ANY:
            return self.all if edge else self.characters
        return self.members[ranges] | {self.edge} if edge else self.members[ranges]

    def ranges(self, kinds: Kinds) -> Ranges:
        """Return the characters of the given kinds."""
        found = self.known.get(kinds)
        if found is None:
            classes = (self.classes[kind] for kind in kinds if kind != self.edge)
            found = self.known[kinds] = charclass.normalize(r for ranges in classes for r in ranges)
        return found

    def parts(self, kinds: Iterable[Kinds]) -> Parts:
        """Return the partition that some sets of kinds define."""
        found = self.alike
        for each in kinds:
            found = met(found, tuple(kind in each for kind in range(len(self.all))))
        return found


_sides = remembering(256)(Sides)


def sides_of(wanted: Iterable[Ranges], universe: Ranges) -> Sides:
    """Return the kinds that some sets define; Unicode classes have hundreds of ranges. Raises: TooLarge."""
    return _sides(tuple(ranges for ranges in dict.fromkeys(wanted) if ranges != charclass.ANY), universe)


def met(one: tuple[int, ...], other: tuple[int, ...]) -> Parts:
    """Return the common refinement of two partitions."""
    if one == other:
        return one
    spend(1 + len(one) // 8)
    numbers: dict[tuple[int, int], int] = {}
    return tuple(numbers.setdefault(pair, len(numbers)) for pair in zip(one, other, strict=True))


@final
class AssertedPattern:
    """A pattern with one-character lookarounds as edges, and data that the graphs of its parts share."""

    def __init__(self, root: Node, as_bytes: bool, any_text: ir.Expr) -> None:
        self.any_text = any_text
        self.ends = Ends(as_bytes)
        self.known: dict[int, tuple[Node, Edge | Look | None]] = {}
        self.asked: dict[int, list[tuple[Kinds, Kinds]]] = {}  # by the identity of edges
        self.root = self._simplified(root)
        nodes = [*walk_nodes(self.root)]
        edges = [node for node in nodes if isinstance(node, Edge)]
        spend(4 * len(edges))
        # of bytes that need not be UTF-8, something else than a character can stand beside a place
        others = ((INVALID, INVALID),) if any_text != ir.ANY_TEXT and not as_bytes else ()
        universe = (*self.ends.any, *others)
        loops = [found[0] for node in nodes if (found := self.tempered(node))]
        try:
            self.lefts = sides_of((a[0] for edge in edges for a, _ in edge.pairs), universe)
            rights = (b[0] for edge in edges for _, b in edge.pairs)
            self.rights = sides_of((*rights, *loops), universe)
        except TooLarge:
            raise TooEntangled(edges[0]) from None

    def asks(self, assertion: Edge | Look) -> list[tuple[Kinds, Kinds]]:
        """Return the kinds on which an edge depends."""
        found = self.asked.get(id(assertion))
        if found is None:
            edge = assertion if isinstance(assertion, Edge) else cast("Edge", assertion.body)
            pairs = edge.pairs
            found = self.asked[id(assertion)] = [
                (self.lefts.kinds(a), self.rights.kinds(b)) for a, b in pairs
            ]
        return found

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
                found = next((each for each in inner if each is not None), None)
            self.known[id(current)] = (current, found)
        return self.known[id(node)][1]

    # recursion is as deep as groups are nested, which the reader limits
    def _simplified(self, node: Node) -> Node:
        """Return the node with its one-character lookarounds and anchors as edges."""
        spend(10)
        if self.assertion(node) is None:
            return node
        if not isinstance(node, Look):
            return rebuilt(node, self._simplified)
        body = self._simplified(node.body)
        if isinstance(body, Edge) and not node.negative:
            return body
        if self.assertion(body) is None:
            plain = cast("ir.Expr", body)
            if nullable(plain):
                return ir.NOTHING if node.negative else ir.EPSILON
            ranges = self.one_character(plain)
            if ranges is not None:
                side: Side = (ranges, False)
                if node.negative:
                    side = complement(ranges, self.ends.any), True
                pair = (ANYTHING, side) if node.ahead else (side, ANYTHING)
                return Edge((pair,), node.offset, node.what)
        items = body.items if isinstance(body, ir.Sequence) else ()
        if len(items) > 1 and isinstance(place := items[0 if node.ahead else -1], Edge | Look):
            # what is asked at the place itself stands beside it: (?=^x) is ^(?=x), (?!^x) is (?!^)|(?!x)
            rest = items[1:] if node.ahead else items[:-1]
            inner = rest[0] if len(rest) == 1 else node_sequence(rest)
            parts = [place, Look(inner, node.ahead, node.negative, node.offset)]
            if not node.negative:
                return self._simplified(node_sequence(parts))
            flipped = isinstance(place, Look) and place.negative
            looked = place.body if isinstance(place, Look) else place
            parts[0] = Look(looked, getattr(place, "ahead", True), not flipped, place.offset)
            return self._simplified(node_choice(parts))
        return Look(body, node.ahead, node.negative, node.offset)

    def one_character(self, expr: Node) -> Ranges | None:
        """Return the ranges of an expression that is always exactly one character."""
        match expr:
            case ir.CharClass(ranges):
                return ranges
            case ir.ByteClass(mask) if self.ends.as_bytes:
                return ranges_of(mask)
            case ir.Literal(data):
                text = data.decode("latin-1" if self.ends.as_bytes else "utf-8", "ignore")
                return ((ord(text), ord(text)),) if len(text) == 1 else None
            case ir.Choice(items) if items:
                found = [self.one_character(item) for item in items]
                return charclass.normalize(r for each in found for r in each or ()) if all(found) else None
        return None

    def one_of(self, ranges: Ranges) -> ir.Expr:
        """Return the expression of one character in the ranges."""
        return byte_class(ranges) if self.ends.as_bytes else char_class(ranges)

    def tempered(self, node: Node) -> tuple[Ranges, list[Look], bool] | None:
        """Return the character of a loop with lookaheads in every round such as ``(?:(?!x).)*``, the
        lookaheads, and whether they come first.
        """
        if not isinstance(node, ir.Repeat) or not isinstance(node.item, ir.Sequence):
            return None
        items: tuple[Node, ...] = node.item.items
        first = isinstance(items[0], Edge | Look)
        looks: list[Look] = []
        for look in items[:-1] if first else items[1:]:
            if isinstance(look, Edge) and len(look.pairs) == 1 and look.pairs[0][0] == ANYTHING:
                side, end = look.pairs[0][1]
                body = self.one_of(complement(side, self.ends.any) if end else side)
                look = Look(body, True, end, look.offset)
            elif not isinstance(look, Look) or not look.ahead:
                return None
            looks.append(look)
        ranges = self.one_character(items[-1] if first else items[0])
        # edges alone do not need it
        return (ranges, looks, first) if ranges and any(isinstance(item, Look) for item in items) else None


@final
class Places:
    """A sequence of nodes as a graph, from the place FIRST to the place LAST."""

    def __init__(self, pattern: AssertedPattern, items: Iterable[Node]) -> None:
        self.pattern = pattern
        self.count = 2
        self.edges: list[tuple[int, Label, int]] = []
        self.counted: list[Counted] = []
        self.sequence(tuple(items), FIRST, LAST)
        self.lefts: list[Parts] = [pattern.lefts.alike] * self.count
        self.rights: list[Parts] = [pattern.rights.alike] * self.count
        self.divide()

    # -- the graph -----------------------------------------------------------------------------------------

    def place(self) -> int:
        """Return a new place."""
        self.count += 1
        return self.count - 1

    def edge(self, start: int, label: Label, end: int) -> None:
        """Add an edge."""
        if len(self.edges) >= MAX_EDGES:
            raise TooLarge
        self.edges.append((start, label, end))

    def sequence(self, items: tuple[Node, ...], start: int, end: int) -> None:
        """Add consecutive nodes. Nodes without assertions become one edge."""
        groups: list[Node] = []
        for is_free, group in groupby(items, lambda item: self.pattern.assertion(item) is None):
            nodes = [*group]
            groups += [concat(cast("list[ir.Expr]", nodes))] if is_free else nodes
        groups = groups or [ir.EPSILON]
        for each in groups[:-1]:
            after = self.place()
            self.add(each, start, after)
            start = after
        self.add(groups[-1], start, end)

    # recursion is as deep as groups are nested, which the reader limits
    def add(self, node: Node, start: int, end: int) -> None:
        """Add a node."""
        spend(20)
        if isinstance(node, Edge) or self.pattern.assertion(node) is None:
            self.edge(start, cast("ir.Expr | Edge", node), end)
            return
        match node:
            case Look(Edge()):
                self.edge(start, node, end)
            case Look():
                self.edge(start, self.asked(node), end)
            case ir.Sequence(items):
                self.sequence(items, start, end)
            case ir.Choice(items):
                free = [item for item in items if self.pattern.assertion(item) is None]
                if free:
                    self.edge(start, choice(free), end)
                for item in items:
                    if self.pattern.assertion(item) is not None:
                        self.add(item, start, end)
            case ir.Repeat(item, low, high):
                self.repetition(node, item, low, high, start, end)
            case _:
                raise TypeError(f"not a node of a regex: {node!r}")

    def repetition(
        self, node: ir.Repeat, item: Node, low: int, high: int | None, start: int, end: int
    ) -> None:
        """Add a repetition with assertions inside."""
        if self.run(node, start, end):
            return
        if low == 0:
            self.edge(start, ir.EPSILON, end)
        if high == 0:
            return
        if low <= 1 and high is None:
            begin, round_end = self.place(), self.place()
            self.edge(start, ir.EPSILON, begin)
            self.add(item, begin, round_end)
            self.edge(round_end, ir.EPSILON, begin)
            self.edge(round_end, ir.EPSILON, end)
            return
        if low <= 1:
            self.add(item, start, end)
        if high == 1:
            return
        # the first round, those between, and the last one
        between = self.place()
        self.add(item, start, between)
        if high != 2:
            first = len(self.edges)
            self.add(item, between, between)
            least = max(low - 2, 0)  # mutant: missing-rounds
            most = None if high is None else high - 2
            some = self.pattern.assertion(item)
            self.counted.append(Counted(between, first, len(self.edges), least, most, some))
        self.add(item, between, end)

    def asked(self, look: Look) -> AskedLook:
        """Return the edge for a lookaround."""
        pattern = self.pattern
        text = pattern.any_text
        graph = Places(pattern, (look.body, text) if look.ahead else (text, look.body))
        for _, label, _ in graph.edges:
            if isinstance(label, AskedLook) and label.look.ahead != look.ahead:
                raise TooEntangled(label.look)  # it sees more than this look
        known: dict[Kinds, ir.Expr] = {}

        def strings(kinds: Kinds) -> ir.Expr:
            found = known.get(kinds)
            if found is None:
                edge = frozenset([pattern.lefts.edge if not look.ahead else pattern.rights.edge])
                found = known[kinds] = graph.solve(kinds, edge) if look.ahead else graph.solve(edge, kinds)
            return found

        return AskedLook(
            strings, look, look.negative, graph.lefts[FIRST] if look.ahead else graph.rights[LAST]
        )

    def run(self, node: ir.Repeat, start: int, end: int) -> bool:
        """Add a loop over one character with lookaheads in every round; return whether the node is one.

        The continuation of such a loop must not begin with its character: then its rounds extend to the end
        of the run of these characters, and one lookahead before the loop covers all rounds.
        """
        found = self.pattern.tempered(node)
        if found is None:
            return False
        ranges, looks, before = found
        asked = [self.asked(look) for look in looks]
        if any(max(each.beside) for each in asked):
            return False  # they ask about the character before them
        one, text = self.pattern.one_of(ranges), self.pattern.any_text
        for each in asked:
            bad = each.strings(self.pattern.lefts.all)
            if not each.negative:
                bad = complemented(self.pattern, bad, each.look)
            # no place of the run may be bad: before a round (?!c*(?=c)x), after one (?!c+x)
            if before:
                bad = ir.Intersection((concat([one, text]), bad))
            bad = concat([repeat(one, 0 if before else 1, None), bad])
            after = self.place()
            self.edge(start, AskedLook(always(bad), each.look, True, each.beside), after)
            start = after
        after = self.place()
        self.edge(start, ir.Repeat(one, node.min, node.max), after)
        self.edge(after, Unless(self.pattern.rights.kinds((ranges, False)), looks[0]), end)
        return True

    # -- states --------------------------------------------------------------------------------------------

    def divide(self) -> None:
        """Find the last and next characters that matter at each position."""
        lefts, rights = self.pattern.lefts, self.pattern.rights
        empty: list[
            tuple[int, Parts, Parts, int]
        ] = []  # the edges that may take nothing, with what they ask about
        for start, label, end in self.edges:
            left, right = lefts.alike, rights.alike
            if isinstance(label, Edge | Look):
                left = lefts.parts(kinds for kinds, _ in self.pattern.asks(label))
                right = rights.parts(kinds for _, kinds in self.pattern.asks(label))
            elif isinstance(label, AskedLook):
                left, right = (label.beside, right) if label.look.ahead else (left, label.beside)
            elif isinstance(label, Unless):
                right = rights.parts([label.kinds])
            elif not nullable(label):
                continue
            empty.append((start, left, right, end))
        changed = True
        while changed:  # there and back, so that few rounds do
            changed = False
            for start, left, right, end in (*empty, *reversed(empty)):
                spend(2)
                before, after = self.lefts[start], self.rights[end]
                self.lefts[start] = met(met(before, left), self.lefts[end])
                self.rights[end] = met(met(after, right), self.rights[start])
                changed = changed or before != self.lefts[start] or after != self.rights[end]

    def solve(self, left: Kinds | None = None, right: Kinds | None = None) -> ir.Expr:
        """Return the strings from the first position to the last.

        ``left``: the last characters before the strings, ``right``: the next ones after them; None for the
        edge of the text.
        Raises: TooEntangled, TooLarge, CannotSplit.
        """
        return PlaceStates(
            self, left or {self.pattern.lefts.edge}, right or {self.pattern.rights.edge}
        ).solve()


@final
class PlaceStates:
    """The states of a graph, and its transitions."""

    def __init__(self, places: Places, left: Iterable[int], right: Iterable[int]) -> None:
        self.places, self.pattern = places, places.pattern
        self.left_parts = [grouped(parts) for parts in places.lefts]
        self.right_parts = [grouped(parts) for parts in places.rights]
        self.graph: dict[tuple[int, int, int], Label] = {}  # (state, edge of the places, state)
        self.memo: dict[tuple[int, int, int], ir.Expr] = {}
        (first_left,) = {places.lefts[FIRST][kind] for kind in left}
        last_right = {places.rights[LAST][kind] for kind in right}
        out: dict[int, list[int]] = {}
        for number, (start, _, _) in enumerate(places.edges):
            out.setdefault(start, []).append(number)
        order = [(FIRST, first_left, part) for part in self.right_parts[FIRST]]
        self.numbers = {state: number for number, state in enumerate(order)}
        self.starts = set(self.numbers.values())
        for state in order:
            for number in out.get(state[0], ()):
                for target, label in self.moves(state, number):
                    spend(8)
                    if target not in self.numbers:
                        if len(order) >= MAX_EDGES:
                            raise TooLarge
                        self.numbers[target] = len(order)
                        order.append(target)
                    self.graph[self.numbers[state], number, self.numbers[target]] = label
        self.last = len(order)
        self.ends = {self.numbers[s] for s in order if s[0] == LAST and s[2] in last_right}

    def moves(self, state: State, number: int) -> Iterable[tuple[State, Label]]:
        """Yield the target states of an edge, each with its expression."""
        places = self.places
        start, label, end = places.edges[number]
        left, right = self.left_parts[start][state[1]], self.right_parts[start][state[2]]
        stay = places.lefts[end][min(left)]  # without a character, what is before and after stays
        kept = {part for part, kinds in self.right_parts[end].items() if kinds <= right}
        if isinstance(label, Edge | Look):
            for part in kept:
                kinds = self.right_parts[end][part]
                holds = any(left <= a and kinds <= b for a, b in self.pattern.asks(label))
                if holds == isinstance(label, Edge):
                    yield (end, stay, part), ir.EPSILON
        elif isinstance(label, AskedLook):
            for part in kept:
                beside = left if label.look.ahead else self.right_parts[end][part]
                yield (end, stay, part), label._replace(strings=always(label.strings(beside)))
        elif isinstance(label, Unless):
            for part in kept:
                yield (end, stay, part), label if self.right_parts[end][part] <= label.kinds else ir.EPSILON
        else:
            may_be_empty = nullable(label)
            for to in self.left_parts[end]:
                for part in self.right_parts[end]:
                    is_empty = may_be_empty and to == stay and part in kept
                    found = self.restricted(number, state[2], to, is_empty)
                    if not is_nothing(found):
                        yield (end, to, part), found

    def restricted(self, number: int, right: int, left: int, with_empty: bool) -> ir.Expr:
        """Return the strings of an edge with the right first and last characters; ``with_empty``: also ""."""
        key = (number, right, 2 * left + with_empty)
        known = self.memo.get(key)
        if known is not None:
            return known
        start, label, end = self.places.edges[number]
        ends, lefts, rights = self.pattern.ends, self.pattern.lefts, self.pattern.rights
        first, last = self.right_parts[start][right], self.left_parts[end][left]
        found = cast("ir.Expr", label)
        if not first >= rights.characters:
            found = ends.begin(found, rights.ranges(first), end == LAST)
        if not last >= lefts.characters:
            found = ends.end(found, lefts.ranges(last), start == FIRST)
        if not with_empty:
            found = ends.nonempty(found)
        elif not nullable(found):
            found = ir.EPSILON if is_nothing(found) else either(found, ir.EPSILON)
        self.memo[key] = found
        return found

    def solve(self) -> ir.Expr:
        """Return the strings of the graph."""
        ways = [(state, target) for state, _, target in self.graph]
        alive = reaching(ways, self.ends) & reaching([(b, a) for a, b in ways], self.starts)
        self.graph = {key: label for key, label in self.graph.items() if key[0] in alive and key[2] in alive}
        for label in self.graph.values():
            if isinstance(label, Unless):
                raise TooEntangled(label.look)
        for counted in self.places.counted:
            self.count_rounds(counted)
        start, end = self.new(), self.new()
        for state in self.starts & alive:
            self.graph[start, -1, state] = ir.EPSILON
        for state in self.ends & alive:
            self.graph[state, -1, end] = ir.EPSILON
        # lookarounds lead from an end of their own to a beginning of their own
        looks: list[tuple[AskedLook, int, int]] = []
        for (a, number, b), label in list(self.graph.items()):
            if isinstance(label, AskedLook):
                looks.append((label, self.new(), self.new()))
                del self.graph[a, number, b]
                self.graph[a, number, looks[-1][1]] = self.graph[looks[-1][2], number, b] = ir.EPSILON
        graph = eliminated(self.graph, {start, end, *(state for _, *both in looks for state in both)})
        if not looks:
            return graph[start].get(end, ir.NOTHING)
        return Looked(self.pattern, graph, start, end, looks).solve()

    def new(self) -> int:
        """Return a new state."""
        self.last += 1
        return self.last

    def count_rounds(self, counted: Counted) -> None:
        """Write rounds from each state to itself as one repetition. Raises: TooEntangled."""
        inner = {key: label for key, label in self.graph.items() if counted.first <= key[1] < counted.past}
        begins = {number for state, number in self.numbers.items() if state[0] == counted.place}
        after = {state: self.new() for state in begins}
        rounds: dict[tuple[int, int, int], Label] = {}
        for (a, number, b), label in inner.items():
            if isinstance(label, AskedLook):
                raise TooEntangled(label.look)
            rounds[a, number, after.get(b, b)] = label
        graph = eliminated(rounds, {*begins, *after.values()})
        for state in begins:
            others = graph.get(state, {})
            one = others.pop(after[state], ir.NOTHING)
            if others:
                raise TooEntangled(counted.some)
            several = repeat(one, counted.low, counted.high) if not is_nothing(one) else ir.NOTHING
            if is_nothing(one) and counted.low == 0:
                several = ir.EPSILON
            for a, number, b in list(self.graph):
                if a == state and not counted.first <= number < counted.past:
                    self.graph[after[state], number, b] = self.graph.pop((a, number, b))
            if not is_nothing(several):
                self.graph[state, counted.first, after[state]] = several
        for key in inner:
            del self.graph[key]


def eliminated(edges: dict[tuple[int, int, int], Label], kept: set[int]) -> Graph:
    """Return the paths between the kept states, with all other states eliminated."""
    graph: Graph = {state: {} for state in kept}
    for (a, _, b), label in edges.items():
        graph.setdefault(b, {})
        if a == b and label == ir.EPSILON:
            continue
        known = graph.setdefault(a, {}).get(b)
        expr = cast("ir.Expr", label)
        graph[a][b] = expr if known is None else either(known, expr)
    eliminate(graph, kept)
    return graph


def always(strings: ir.Expr) -> Callable[[Kinds], ir.Expr]:
    """Return a function that returns the same strings for every character."""
    return lambda _: strings


def grouped(parts: Parts) -> dict[int, Kinds]:
    """Return the kinds in each part of a partition."""
    found: dict[int, set[int]] = {}
    for kind, part in enumerate(parts):
        found.setdefault(part, set()).add(kind)
    return {part: frozenset(kinds) for part, kinds in found.items()}


@final
class Looked:
    """Lookarounds between expressions. A lookahead is intersected with the continuation, a lookbehind with
    the preceding text.
    """

    def __init__(
        self,
        pattern: AssertedPattern,
        graph: Graph,
        start: int,
        end: int,
        looks: list[tuple[AskedLook, int, int]],
    ) -> None:
        if len(looks) > MAX_LOOKS:
            raise TooEntangled(looks[0][0].look)
        self.pattern, self.graph = pattern, graph
        self.ahead = {before: (look, after) for look, before, after in looks if look.look.ahead}
        self.behind = {after: (look, before) for look, before, after in looks if not look.look.ahead}
        self.before = {before for _, before in self.behind.values()}
        self.start, self.end = start, end
        self.done: dict[int, ir.Expr | None] = {start: ir.EPSILON, end: ir.EPSILON}  # None: on the way

    def solve(self) -> ir.Expr:
        """Return the strings from the start to the end. Raises: TooEntangled."""
        return choice(
            concat([self.prefix(state), way, self.suffix(target)])
            for state in (self.start, *self.behind)
            for target, way in self.graph[state].items()
            if target not in self.before
        )

    # recursion is as deep as there are lookarounds in a row, which MAX_LOOKS limits
    def suffix(self, state: int) -> ir.Expr:
        """Return the continuation of a state, which is a lookahead or the end."""
        known = self.done.get(state)
        if known is None:
            look, after = self.ahead[state]
            if state in self.done or self.graph[after].keys() & self.before:
                raise TooEntangled(look.look)  # in a loop, or before a lookbehind
            self.done[state] = None
            follows = choice(concat([way, self.suffix(to)]) for to, way in self.graph[after].items())
            known = self.done[state] = self.looked(follows, look)
        return known

    def prefix(self, state: int) -> ir.Expr:
        """Return the text before a state, which is the start or follows a lookbehind."""
        known = self.done.get(state)
        if known is None:
            look, before = self.behind[state]
            if state in self.done:
                raise TooEntangled(look.look)
            self.done[state] = None
            ways = [(each, self.graph[each].get(before)) for each in (self.start, *self.behind)]
            precedes = choice(concat([self.prefix(each), way]) for each, way in ways if way is not None)
            known = self.done[state] = self.looked(precedes, look)
        return known

    def looked(self, expr: ir.Expr, asked: AskedLook) -> ir.Expr:
        """Return the strings of an expression that a lookaround allows."""
        strings = asked.strings(frozenset())
        if is_nothing(strings):
            return expr if asked.negative else ir.NOTHING
        if asked.negative:
            strings = complemented(self.pattern, strings, asked.look)
        if expr == self.pattern.any_text:
            return strings
        return ir.Intersection((*(expr.items if isinstance(expr, ir.Intersection) else (expr,)), strings))


def complemented(pattern: AssertedPattern, strings: ir.Expr, look: Look) -> ir.Expr:
    """Return all texts other than these. Raises: TooEntangled."""
    if pattern.any_text != ir.ANY_TEXT:  # `!` is about text
        raise TooEntangled(look)
    return ir.Complement(strings)
