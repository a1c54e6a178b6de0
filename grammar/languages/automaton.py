"""Finite automata over classes of characters or bytes: minimisation, Boolean operations, and conversion to
expressions.

Sources: J. A. Brzozowski and E. J. McCluskey, Signal flow graph techniques for sequential circuit state
    diagrams, 1963, for the conversion to expressions; M. O. Rabin and D. Scott, Finite automata and their
    decision problems, 1959, for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, repeat
from stackmask.grammar.languages.classes import BYTES, TooLarge, classes_of, one_of, ranges_of
from stackmask.grammar.languages.forms import concat
from stackmask.grammar.languages.partition import merged
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

MAX_SIZE: Final = 60_000  # nodes of an expression
MAX_NESTING: Final = 300  # levels of an expression; rules have at most 400

State = TypeVar("State")
Graph = dict[int, dict[int, ir.Expr]]
"""State → state → the expression of the strings that lead there."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton that starts in state 0.

    ``rows``: for each state, class → next state; a missing class is a dead end. ``classes``: disjoint sets of
    characters, or of bytes.
    """

    rows: Sequence[dict[int, int]]
    accepting: Sequence[bool]
    classes: Sequence[Ranges]
    as_bytes: bool = False

    def alive(self) -> set[int]:
        """Return the states that can reach an accepting state."""
        return reaching(
            [(state, target) for state, row in enumerate(self.rows) for target in row.values()],
            (state for state, accepts in enumerate(self.accepting) if accepts),
        )

    def blocks(self) -> dict[int, int]:
        """Return the block of each live state, in order; states of one block accept the same strings."""
        alive = sorted(self.alive())
        number = {state: at for at, state in enumerate(alive)}
        moves = [
            (number[state], letter, number[target])
            for state in alive
            for letter, target in self.rows[state].items()
            if target in number
        ]
        spend(2 * len(alive) + len(moves) // 4)
        accepting = [self.accepting[state] for state in alive]
        return dict(zip(alive, merged(accepting, moves, len(self.classes)), strict=True))

    def minimal(self) -> Automaton:
        """Return the smallest automaton for the same strings, without dead states."""
        block = self.blocks()
        if 0 not in block:
            return Automaton([{}], [False], self.classes, self.as_bytes)
        first = {number: state for state, number in reversed(block.items())}

        def read(number: int) -> tuple[bool, Iterable[tuple[int, int]]]:
            row = self.rows[first[number]]
            return self.accepting[first[number]], [(a, block[t]) for a, t in row.items() if t in block]

        return explored([block[0]], read, self.classes, self.as_bytes, len(first))

    def complement(self) -> Automaton:
        """Return the automaton for all other strings."""
        sink = len(self.rows)
        rows = [{a: row.get(a, sink) for a in range(len(self.classes))} for row in (*self.rows, {})]
        return Automaton(
            rows, [not accepts for accepts in (*self.accepting, False)], self.classes, self.as_bytes
        )

    def intersection(self, other: Automaton, most: int) -> Automaton:
        """Return the intersection; both automata have the same classes. Raises: TooLarge."""

        def read(pair: tuple[int, int]) -> tuple[bool, Iterable[tuple[int, tuple[int, int]]]]:
            left, right = self.rows[pair[0]], other.rows[pair[1]]
            moves = [(a, (target, right[a])) for a, target in left.items() if a in right]
            return self.accepting[pair[0]] and other.accepting[pair[1]], moves

        return explored([(0, 0)], read, self.classes, self.as_bytes, most)

    def is_endless(self) -> bool:
        """Return whether every prefix of a string has infinitely many completions; False if the language is empty."""
        alive = self.alive()
        return 0 in alive and not self._finite(alive)  # mutant: every-beginning

    def _finite(self, alive: set[int]) -> set[int]:
        """Return the live states with a finite language."""
        targets = {state: {t for t in self.rows[state].values() if t in alive} for state in alive}
        before: dict[int, list[int]] = {state: [] for state in alive}
        for state, following in targets.items():
            for target in following:
                before[target].append(state)
        found = [state for state, following in targets.items() if not following]
        for state in found:
            for other in before[state]:
                targets[other].discard(state)
                if not targets[other]:
                    found.append(other)
        return set(found)

    def expression(self, entries: Sequence[tuple[ir.Expr, int]] = ((ir.EPSILON, 0),)) -> ir.Expr:
        """Return the expression for the strings.

        ``entries``: the initial states, each with a preceding expression; by default the first state, after
        the empty string.
        Raises: TooLarge.
        """
        block = self.blocks()
        if len(entries) > 1 and len({block.get(state) for _, state in entries}) == 1:
            # whatever stands before it
            every = ir.Repeat(one_of((r for ranges in self.classes for r in ranges), self.as_bytes), 0, None)
            entries = [(every, entries[0][1])]
        entries = [(before, state) for before, state in entries if state in block]
        first = {number: state for state, number in reversed(block.items())}
        start, end = len(first), len(first) + 1
        entered: dict[int, list[ir.Expr]] = {}
        for before, state in entries:
            entered.setdefault(block[state], []).append(before)
        graph: Graph = {start: {number: choice(options) for number, options in entered.items()}, end: {}}
        for number, state in first.items():
            letters: dict[int, list[tuple[int, int]]] = {}
            for letter, target in self.rows[state].items():
                if target in block:
                    letters.setdefault(block[target], []).extend(self.classes[letter])
            graph[number] = {t: one_of(ranges, self.as_bytes) for t, ranges in letters.items()}
            if self.accepting[state]:
                graph[number][end] = ir.EPSILON
        eliminate(graph, {start, end})
        return graph[start].get(end, ir.NOTHING)


def explored(
    starts: Sequence[State],
    read: Callable[[State], tuple[bool, Iterable[tuple[int, State]]]],
    classes: Sequence[Ranges],
    as_bytes: bool,
    most: int,
) -> Automaton:
    """Return the automaton of the reachable states, beginning with the given ones.

    ``read``: returns for a state whether it accepts, and its transitions by class.
    Raises: TooLarge beyond ``most`` states.
    """
    numbers = {state: number for number, state in enumerate(starts)}
    order = list(starts)
    rows: list[dict[int, int]] = []
    accepting: list[bool] = []
    for state in order:
        accepts, moves = read(state)
        accepting.append(accepts)
        row: dict[int, int] = {}
        for letter, target in moves:
            number = numbers.setdefault(target, len(order))
            if number == len(order):
                if number >= most:
                    raise TooLarge
                order.append(target)
            row[letter] = number
        rows.append(row)
    return Automaton(rows, accepting, classes, as_bytes)


def reaching(edges: Iterable[tuple[int, int]], ends: Iterable[int]) -> set[int]:
    """Return the states from which one of the given states can be reached, including the given states."""
    before: dict[int, list[int]] = {}
    for state, target in edges:
        before.setdefault(target, []).append(state)
    found = set(ends)
    todo = list(found)
    while todo:
        for state in before.get(todo.pop(), ()):
            if state not in found:
                found.add(state)
                todo.append(state)
    return found


def eliminate(graph: Graph, kept: set[int]) -> None:
    """Eliminate all states except ``kept`` from a graph of expressions, and replace the paths through them.

    Raises: TooLarge.
    """
    sources: dict[int, set[int]] = {state: set() for state in graph}
    for state, targets in graph.items():
        for target in targets:
            sources[target].add(state)
    size = {(state, target): 1 for state, targets in graph.items() for target in targets}
    depth = dict.fromkeys(size, 1)
    todo = graph.keys() - kept

    def weight(state: int) -> tuple[int, int]:
        into = [s for s in sources[state] if s != state]
        out = [t for t in graph[state] if t != state]
        loop = size.get((state, state), 0)
        spend(2 + len(into) + len(out))
        grown = sum(size[s, state] for s in into) * len(out) + sum(size[state, t] for t in out) * len(into)
        return grown + loop * len(into) * len(out), state

    weights = {state: weight(state) for state in todo}
    while todo:
        spend(1 + len(todo) // 8)
        b = min(todo, key=weights.__getitem__)
        todo.discard(b)
        loop = graph[b].pop(b, None)
        loop_size, loop_depth = size.get((b, b), 0), depth.get((b, b), 0)
        sources[b].discard(b)
        for s in sources[b]:
            into = graph[s].pop(b)
            spend(4 + 8 * len(graph[b]))
            for t, out in graph[b].items():
                way = through(into, loop, out)
                ways = size[s, b] + loop_size + size[b, t] + 2
                deep = 1 + max(depth[s, b], loop_depth + 1, depth[b, t])
                other = graph[s].get(t)
                if other is not None:
                    way, ways, deep = either(other, way), ways + size[s, t], max(deep, depth[s, t]) + 1
                if ways > MAX_SIZE or deep > MAX_NESTING:
                    raise TooLarge
                graph[s][t] = way
                size[s, t], depth[s, t] = ways, deep
                sources[t].add(s)
        near = sources[b] | graph[b].keys()
        for t in graph.pop(b):
            sources[t].discard(b)
        weights.update((each, weight(each)) for each in near & todo)


def through(into: ir.Expr, loop: ir.Expr | None, out: ir.Expr) -> ir.Expr:
    """Return the path into a state, around its loop and out of it; `x* x` is `x x*`."""
    if loop is None:
        return concat([into, out])
    if loop == out:
        return concat([into, loop, repeat(loop, 0, None)])
    return concat([into, repeat(loop, 0, None), out])


def either(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Return either of two expressions; `ε | x x*` is `x*`."""
    if left == ir.EPSILON:
        left, right = right, left
    if right == ir.EPSILON and isinstance(left, ir.Repeat) and left.min <= 1:
        return ir.Repeat(left.item, 0, left.max)
    if right == ir.EPSILON:
        return ir.Repeat(left, 0, 1)
    return choice([left, right])


# -- Expressions to automata: what is still to be matched, step by step. ---------------------------------

NOTHING: Final[frozenset[int]] = frozenset()


class Ways(NamedTuple):
    """The transitions of a continuation, or the ordered list of continuations that it represents."""

    takes: frozenset[int]
    target: int
    others: list[int]


class Continuations:
    """A nondeterministic automaton built on demand: its states are lists of nodes, as numbers.

    The first numbers represent ends. ``sets``: further sets of characters to distinguish. ``lazy``: the lazy
    repetitions, by identity. Raises: TooLarge with too many classes of characters.
    """

    def __init__(
        self,
        nodes: Iterable[Any],
        as_bytes: bool,
        most: int,
        *,
        sets: Iterable[Ranges] = (),
        lazy: dict[int, ir.Repeat] | None = None,
        ends: int = 1,
    ) -> None:
        self.as_bytes = as_bytes
        self.lazy = {} if lazy is None else lazy
        wanted = dict.fromkeys((*sets, *self.sets_of(nodes)))
        every = BYTES if as_bytes else charclass.ANY
        wanted.pop(every, None)
        self.classes, self.members = classes_of(wanted, every, most)
        self.members[every] = frozenset(range(len(self.classes)))
        self.nodes: list[Any] = [None] * ends  # of a continuation, its first node …
        self.rests: list[int] = [-1] * ends  # … and the continuation after it
        self.numbers: dict[tuple[int, int], int] = {}
        self.repeats: dict[tuple[int, int, int | None, bool], ir.Repeat] = {}
        self.chains: dict[int, tuple[Any, ...]] = {}  # the characters of literals
        self.kept: list[Any] = []  # what identities are taken of
        self.known: dict[int, Ways] = {}

    def sets_of(self, nodes: Iterable[Any]) -> Iterator[Ranges]:
        """Yield the sets of characters that nodes read."""
        for node in nodes:
            match node:
                case ir.CharClass(ranges):
                    yield ranges
                case ir.ByteClass(mask):
                    yield ranges_of(mask)
                case ir.Literal(data):
                    yield from (((code, code),) for code in self.codes(data))

    def codes(self, data: bytes) -> Iterable[int]:
        """Return the characters of a literal."""
        return data if self.as_bytes else map(ord, data.decode())

    def cons(self, node: Any, rest: int) -> int:
        """Return the continuation that begins with a node."""
        key = (id(node), rest)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.nodes)
            self.nodes.append(node)
            self.rests.append(rest)
            self.kept.append(node)
        return number

    def ways(self, here: int) -> Ways:
        """Return the transitions of a continuation that is no end. Raises: TooLarge if unsupported."""
        known = self.known.get(here)
        if known is None:
            known = self.known[here] = self._ways(self.nodes[here], self.rests[here])
        return known

    def _ways(self, node: Any, rest: int) -> Ways:
        match node:
            case tuple():  # the rest of a literal
                target = self.cons(node[1], rest) if node[1] else rest
                return Ways(self.members[((node[0], node[0]),)], target, [])
            case ir.Literal(data):
                chain = self.chains.get(id(node), ())
                if not chain:
                    for code in reversed([*self.codes(data)]):
                        chain = (code, chain)
                    self.chains[id(node)] = chain
                return Ways(NOTHING, -1, [self.cons(chain, rest) if data else rest])
            case ir.CharClass(ranges):
                return Ways(self.members[ranges], rest, [])
            case ir.ByteClass(mask):
                return Ways(self.members[ranges_of(mask)], rest, [])
            case ir.Sequence(items):
                for item in reversed(items):
                    rest = self.cons(item, rest)
                return Ways(NOTHING, -1, [rest])
            case ir.Choice(items):
                return Ways(NOTHING, -1, [self.cons(item, rest) for item in items])
            case ir.Repeat(item, low, high):
                if high == 0:
                    return Ways(NOTHING, -1, [rest])
                is_lazy = id(node) in self.lazy
                again = self._repeated(item, max(low - 1, 0), None if high is None else high - 1, is_lazy)
                more = self.cons(item, rest if again.max == 0 else self.cons(again, rest))
                if low:
                    return Ways(NOTHING, -1, [more])
                return Ways(NOTHING, -1, [rest, more] if is_lazy else [more, rest])
        raise TooLarge  # `&` and `~` have no order

    def _repeated(self, item: Any, low: int, high: int | None, is_lazy: bool) -> ir.Repeat:
        """Return a repetition; equal arguments give the same object."""
        key = (id(item), low, high, is_lazy)
        known = self.repeats.get(key)
        if known is None:
            known = self.repeats[key] = ir.Repeat(item, low, high)
            self.kept.append(item)
            if is_lazy:
                self.lazy[id(known)] = known
        return known


def automaton_of(expr: ir.Expr, most: int) -> Automaton:
    """Return the automaton of a regular expression without references, over characters.

    Raises: TooLarge beyond ``most`` states or classes. Cost: states times classes; recursion is as deep as the expression.
    """
    parts = Continuations(ir.walk(expr), False, most)
    return _automaton(parts, expr, most)


def _automaton(parts: Continuations, expr: ir.Expr, most: int) -> Automaton:
    match expr:
        case ir.Intersection(items):
            first, *others = (_automaton(parts, item, most) for item in items)
            for other in others:
                first = first.intersection(other, most).minimal()
            return first
        case ir.Complement(item):
            return _automaton(parts, item, most).complement()
        case _:
            return _determinised(parts, _plain(parts, expr, most), most)


def _plain(parts: Continuations, expr: ir.Expr, most: int) -> ir.Expr:
    """Return an expression without Boolean operators for the same strings."""
    if not any(isinstance(part, ir.Intersection | ir.Complement) for part in ir.walk(expr)):
        return expr
    match expr:
        case ir.Sequence(items):
            return ir.Sequence(tuple(_plain(parts, item, most) for item in items))
        case ir.Choice(items):
            return ir.Choice(tuple(_plain(parts, item, most) for item in items))
        case ir.Repeat(item, low, high):
            return ir.Repeat(_plain(parts, item, most), low, high)
    plain = _automaton(parts, expr, most).expression()
    for own in parts.sets_of(ir.walk(plain)):  # made of classes that are there
        parts.members[own] = frozenset(
            letter
            for letter, (first, *_) in enumerate(parts.classes)
            if any(x <= first[0] <= y for x, y in own)
        )
    return plain


def _determinised(parts: Continuations, expr: ir.Expr, most: int) -> Automaton:
    everything = frozenset([parts.cons(ir.ANY_TEXT, 0)])

    def read(state: frozenset[int]) -> tuple[bool, Iterable[tuple[int, frozenset[int]]]]:
        following: dict[int, set[int]] = {}
        seen = set(state)
        todo = list(state)
        while todo:
            here = todo.pop()
            if here == 0:
                continue
            if parts.rests[here] == 0 and parts.nodes[here] == ir.ANY_TEXT:  # what else can follow is in it
                return True, [(letter, everything) for letter in range(len(parts.classes))]
            takes, target, others = parts.ways(here)
            spend(4 + len(takes) // 4)
            for letter in takes:
                following.setdefault(letter, set()).add(target)
            todo += [other for other in others if other not in seen]
            seen.update(others)
        return 0 in seen, [(letter, frozenset(targets)) for letter, targets in sorted(following.items())]

    return explored([frozenset([parts.cons(expr, 0)])], read, parts.classes, parts.as_bytes, most)
