"""Expressions to automata: what is still to be matched, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.languages.automaton import Automaton, explored
from stackmask.grammar.languages.classes import BYTES, TooLarge, classes_of, ranges_of
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges
from stackmask.grammar.source.work import spend

NOTHING: Final[frozenset[int]] = frozenset()


class Ways(NamedTuple):
    """What a continuation reads and where that leads, or the continuations that it stands for, in order."""

    takes: frozenset[int]
    target: int
    others: list[int]


class Continuations:
    """A nondeterministic automaton that is made as it is asked for: its states are lists of nodes, as numbers.

    The first numbers stand for ends. ``sets``: of characters that are told apart beside those of the nodes. ``lazy``: the
    repetitions that try few rounds first, by identity. Raises: TooLarge with too many classes of characters.
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
        """Return the ways of a continuation that is no end. Raises: TooLarge for what is no plain expression."""
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
        """Return a repetition; the same object for the same one."""
        key = (id(item), low, high, is_lazy)
        known = self.repeats.get(key)
        if known is None:
            known = self.repeats[key] = ir.Repeat(item, low, high)
            self.kept.append(item)
            if is_lazy:
                self.lazy[id(known)] = known
        return known


def automaton_of(expr: ir.Expr, most: int, as_bytes: bool = False) -> Automaton:
    """Return the automaton of a regular expression without references, over characters or over bytes.

    Raises: TooLarge beyond ``most`` states or classes. Cost: states times classes; recursion is as deep as the expression.
    """
    parts = Continuations(ir.walk(expr), as_bytes, most)
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
    def read(state: frozenset[int]) -> tuple[bool, Iterable[tuple[int, frozenset[int]]]]:
        following: dict[int, set[int]] = {}
        seen = set(state)
        todo = list(state)
        while todo:
            here = todo.pop()
            if here == 0:
                continue
            takes, target, others = parts.ways(here)
            spend(4 + len(takes) // 4)
            for letter in takes:
                following.setdefault(letter, set()).add(target)
            todo += [other for other in others if other not in seen]
            seen.update(others)
        return 0 in seen, [(letter, frozenset(targets)) for letter, targets in sorted(following.items())]

    return explored([frozenset([parts.cons(expr, 0)])], read, parts.classes, parts.as_bytes, most)
