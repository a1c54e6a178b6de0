"""From a finite automaton over classes of characters back to an expression: minimise, then eliminate states.

Source: E. F. Moore, Gedanken-experiments on sequential machines, 1956; J. A. Brzozowski and E. J. McCluskey,
Signal flow graph techniques for sequential circuit state diagrams, 1963.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, repeat
from stackmask.grammar.regex.assertions.contexts import concat
from stackmask.grammar.regex.pattern.reader import byte_class, char_class
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

MAX_SIZE: Final = 60_000  # nodes of the expression
MAX_NESTING: Final = 300  # levels of the expression; rules have at most 400


class TooLarge(Exception):
    """An automaton whose expression would be larger than the limit."""


def expression(
    rows: Sequence[dict[int, int]],
    accepting: Sequence[bool],
    classes: Sequence[Ranges],
    entries: Sequence[tuple[ir.Expr, int]],
    as_bytes: bool,
) -> ir.Expr:
    """Return the expression of the texts that lead to an accepting state.

    ``rows``: per state, class → next state; a class that is not there leads nowhere. ``entries``: what stands
    before the states to begin with; the empty string before the first of them.
    Raises: TooLarge.
    """
    alive = _alive(rows, accepting)
    if not any(state in alive for _, state in entries):
        return ir.NOTHING
    block = _minimal(rows, accepting, alive)
    if len(entries) > 1 and len({block.get(state) for _, state in entries}) == 1:
        # whatever stands before it
        every = ir.Repeat(one_of((r for ranges in classes for r in ranges), as_bytes), 0, None)
        entries = [(every, entries[0][1])]
    entries = [(before, state) for before, state in entries if state in alive]
    first = {b: state for state, b in reversed(block.items())}
    count = len(first)
    start, end = count, count + 1
    edges: dict[int, dict[int, ir.Expr]] = {start: _entered(entries, block), end: {}}
    sources: dict[int, set[int]] = {b: set() for b in range(count + 2)}
    for b in edges[start]:
        sources[b].add(start)
    for b, state in first.items():
        letters: dict[int, list[tuple[int, int]]] = {}
        for letter, target in rows[state].items():
            if target in alive:
                letters.setdefault(block[target], []).extend(classes[letter])
        edges[b] = {t: one_of(ranges, as_bytes) for t, ranges in letters.items()}
        for t in edges[b]:
            sources[t].add(b)
        if accepting[state]:
            edges[b][end] = ir.EPSILON
            sources[end].add(b)
    size = {(b, t): 1 for b, targets in edges.items() for t in targets}
    depth = dict.fromkeys(size, 1)
    todo = set(range(count))

    def weight(b: int) -> tuple[int, int]:
        into = [s for s in sources[b] if s != b]
        out = [t for t in edges[b] if t != b]
        loop = size.get((b, b), 0)
        spend(2 + len(into) + len(out))
        grown = sum(size[s, b] for s in into) * len(out) + sum(size[b, t] for t in out) * len(into)
        return grown + loop * len(into) * len(out), b

    weights = {b: weight(b) for b in todo}
    while todo:
        b = min(todo, key=weights.__getitem__)
        todo.discard(b)
        loop = edges[b].pop(b, None)
        loop_size, loop_depth = size.get((b, b), 0), depth.get((b, b), 0)
        sources[b].discard(b)
        around = repeat(loop, 0, None) if loop is not None else ir.EPSILON
        for s in sources[b]:
            into = edges[s].pop(b)
            spend(4 + 8 * len(edges[b]))
            for t, out in edges[b].items():
                way = concat([into, around, out])
                ways = size[s, b] + loop_size + size[b, t] + 2
                deep = 1 + max(depth[s, b], loop_depth + 1, depth[b, t])
                other = edges[s].get(t)
                if other is not None:
                    way, ways, deep = either(other, way), ways + size[s, t], max(deep, depth[s, t]) + 1
                if ways > MAX_SIZE or deep > MAX_NESTING:
                    raise TooLarge
                edges[s][t] = way
                size[s, t], depth[s, t] = ways, deep
                sources[t].add(s)
        near = sources[b] | edges[b].keys()
        for t in edges.pop(b):
            sources[t].discard(b)
        weights.update((each, weight(each)) for each in near & todo)
    return edges[start].get(end, ir.NOTHING)


def either(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Return either of two expressions; `ε | x x*` is `x*`."""
    if left == ir.EPSILON:
        left, right = right, left
    if right == ir.EPSILON and isinstance(left, ir.Repeat) and left.min <= 1:
        return ir.Repeat(left.item, 0, left.max)
    if right == ir.EPSILON:
        return ir.Repeat(left, 0, 1)
    return choice([left, right])


def _entered(entries: Sequence[tuple[ir.Expr, int]], block: dict[int, int]) -> dict[int, ir.Expr]:
    """Return what stands before each block."""
    found: dict[int, list[ir.Expr]] = {}
    for before, state in entries:
        found.setdefault(block[state], []).append(before)
    return {b: choice(options) for b, options in found.items()}


def one_of(ranges: Iterable[tuple[int, int]], as_bytes: bool) -> ir.Expr:
    """Return the expression of one character, or byte, out of the ranges."""
    found = charclass.normalize(ranges)
    if len(found) == 1 and found[0][0] == found[0][1] and not as_bytes:
        return ir.Literal(chr(found[0][0]).encode())
    return byte_class(found) if as_bytes else char_class(found)


def _alive(rows: Sequence[dict[int, int]], accepting: Sequence[bool]) -> set[int]:
    """Return the states from which an accepting one can be reached."""
    before: list[list[int]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for target in row.values():
            before[target].append(state)
    todo = [state for state, accepts in enumerate(accepting) if accepts]
    alive = set(todo)
    while todo:
        for state in before[todo.pop()]:
            if state not in alive:
                alive.add(state)
                todo.append(state)
    return alive


def _minimal(rows: Sequence[dict[int, int]], accepting: Sequence[bool], alive: set[int]) -> dict[int, int]:
    """Return the block of each state that is alive; states of one block accept the same texts."""
    block = {state: int(accepting[state]) for state in sorted(alive)}
    count = len(set(block.values()))
    while True:
        numbers: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}
        refined: dict[int, int] = {}
        for state, own in block.items():
            spend(2 + len(rows[state]) // 4)
            moves = frozenset((letter, block[t]) for letter, t in rows[state].items() if t in alive)
            refined[state] = numbers.setdefault((own, moves), len(numbers))
        block = refined
        if len(numbers) == count:
            return block
        count = len(numbers)
