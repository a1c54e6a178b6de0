"""Finite automata over classes of characters or bytes: minimal ones, Boolean operations, members, and back to expressions.

Sources: J. A. Brzozowski and E. J. McCluskey, Signal flow graph techniques for sequential circuit state diagrams, 1963, for
the way back; M. O. Rabin and D. Scott, Finite automata and their decision problems, 1959, for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, repeat
from stackmask.grammar.languages.classes import TooLarge, one_of
from stackmask.grammar.languages.forms import concat
from stackmask.grammar.languages.partition import merged
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

if TYPE_CHECKING:
    import random

MAX_SIZE: Final = 60_000  # nodes of an expression
MAX_NESTING: Final = 300  # levels of an expression; rules have at most 400

State = TypeVar("State")
Graph = dict[int, dict[int, ir.Expr]]
"""State → state → what leads there."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton that begins in state 0.

    ``rows``: of each state, class → next state; a class that is not there leads nowhere. ``classes``: disjoint sets of
    characters, or of bytes.
    """

    rows: Sequence[dict[int, int]]
    accepting: Sequence[bool]
    classes: Sequence[Ranges]
    as_bytes: bool = False

    def alive(self) -> set[int]:
        """Return the states from which an accepting one can be reached."""
        return reaching(
            [(state, target) for state, row in enumerate(self.rows) for target in row.values()],
            (state for state, accepts in enumerate(self.accepting) if accepts),
        )

    def blocks(self) -> dict[int, int]:
        """Return the block of each state that is alive, in order; states of one block accept the same strings."""
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
        """Return the smallest automaton of the same strings, with no state from which no string ends."""
        block = self.blocks()
        if 0 not in block:
            return Automaton([{}], [False], self.classes, self.as_bytes)
        first = {number: state for state, number in reversed(block.items())}

        def read(number: int) -> tuple[bool, Iterable[tuple[int, int]]]:
            row = self.rows[first[number]]
            return self.accepting[first[number]], [(a, block[t]) for a, t in row.items() if t in block]

        return explored([block[0]], read, self.classes, self.as_bytes, len(first))

    def complement(self) -> Automaton:
        """Return the automaton of all other strings."""
        sink = len(self.rows)
        rows = [{a: row.get(a, sink) for a in range(len(self.classes))} for row in (*self.rows, {})]
        return Automaton(
            rows, [not accepts for accepts in (*self.accepting, False)], self.classes, self.as_bytes
        )

    def intersection(self, other: Automaton, most: int) -> Automaton:
        """Return the automaton of the strings of both; their classes are the same. Raises: TooLarge."""

        def read(pair: tuple[int, int]) -> tuple[bool, Iterable[tuple[int, tuple[int, int]]]]:
            left, right = self.rows[pair[0]], other.rows[pair[1]]
            moves = [(a, (target, right[a])) for a, target in left.items() if a in right]
            return self.accepting[pair[0]] and other.accepting[pair[1]], moves

        return explored([(0, 0)], read, self.classes, self.as_bytes, most)

    def is_finite(self) -> bool:
        """Return whether there are finitely many strings."""
        alive = self.alive()
        return 0 not in alive or 0 in self._finite(alive)

    def is_endless(self) -> bool:
        """Return whether every beginning of a string begins infinitely many; False if there is no string."""
        alive = self.alive()
        return 0 in alive and not self._finite(alive)

    def _finite(self, alive: set[int]) -> set[int]:
        """Return the states, of those that are alive, from which finitely many strings end."""
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

    def words(self, most: int, start: int = 0) -> Iterator[str]:
        """Yield strings that are accepted from a state on, the shorter ones first, at most so many; of bytes, as Latin-1."""
        alive = self.alive()
        level = [("", start)] if start in alive else []
        while level and most > 0:
            reached: dict[int, list[str]] = {}  # of each state, no more beginnings are needed than words
            for word, state in level:
                spend(4)
                if self.accepting[state] and most > 0:
                    yield word
                    most -= 1
                for letter, target in self.rows[state].items():
                    if target in alive:
                        found = reached.setdefault(target, [])
                        codes = (c for low, high in self.classes[letter] for c in range(low, high + 1))
                        found += [word + chr(code) for code in islice(codes, max(0, most - len(found)))]
            level = [(word, state) for state, words in reached.items() for word in words]

    def shortest(self) -> str | None:
        """Return a shortest string; None if there is none."""
        return next(self.words(1), None)

    def random_word(self, rng: random.Random, length: int = 20) -> str | None:
        """Return a string at random, which takes a shortest way to its end after so many characters; None if there is none."""
        alive, state, word = self.alive(), 0, ""
        while len(word) < length:
            moves = [(letter, target) for letter, target in self.rows[state].items() if target in alive]
            if not moves or (self.accepting[state] and rng.random() < 1 / (2 + len(moves))):
                break
            letter, state = rng.choice(moves)
            word += chr(rng.randint(*rng.choice(self.classes[letter])))
        ending = next(self.words(1, state), None)
        return None if ending is None else word + ending

    def matches(self, word: str) -> bool:
        """Return whether a string, of bytes as Latin-1, is accepted."""
        state: int | None = 0
        for char in word:
            code = ord(char)
            letters = (a for a, ranges in enumerate(self.classes) if any(x <= code <= y for x, y in ranges))
            state = self.rows[state].get(next(letters, -1)) if state is not None else None
        return state is not None and self.accepting[state]

    def first(self) -> Ranges:
        """Return the characters that strings begin with."""
        alive = self.alive()
        return self._union(
            letter for letter, target in self.rows[0].items() if 0 in alive and target in alive
        )

    def last(self) -> Ranges:
        """Return the characters that strings end with."""
        reached = reaching([(t, s) for s, row in enumerate(self.rows) for t in row.values()], [0])
        return self._union(a for s in reached for a, t in self.rows[s].items() if self.accepting[t])

    def _union(self, letters: Iterable[int]) -> Ranges:
        return charclass.normalize(r for letter in letters for r in self.classes[letter])

    def expression(self, entries: Sequence[tuple[ir.Expr, int]] = ((ir.EPSILON, 0),)) -> ir.Expr:
        """Return the expression of the strings.

        ``entries``: the states to begin with, and what stands before each; the empty string before the first.
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
    """Return the automaton of the states that can be reached, the first ones first.

    ``read``: of a state, whether it accepts, and its classes with the states that they lead to.
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
    """Return the states from which one of some states can be reached, these included."""
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
    """Take all states but some out of a graph of expressions; what led through them leads past them.

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
    """Return a way into a state, around its loop and out of it; `x* x` is `x x*`."""
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
