"""Compile regular expressions to trimmed DFAs over bytes by the textbook: Thompson, subsets, product.

Deliberately another method than the engine's derivatives. Counts are unrolled, so keep them small here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackmask.grammar import ir

MAX_STATES = 30_000
# payload bits of the lead byte, number of continuation bytes, lead byte, least and greatest code point
_UTF8_FORMS = (
    (7, 0, 0x00, 0x0, 0x7F),
    (5, 1, 0xC0, 0x80, 0x7FF),
    (4, 2, 0xE0, 0x800, 0xFFFF),
    (3, 3, 0xF0, 0x10000, 0x10FFFF),
)


class NotRegular(ValueError):
    """The expression uses something that has no place under ``&`` or ``!``."""


class TooLarge(ValueError):
    """The automaton would be larger than an oracle should build."""


@dataclass(frozen=True, eq=False)
class Dfa:
    """A trimmed DFA: from every state an accepting one can be reached, except perhaps from state 0.

    ``steps[q]`` maps a byte to the next state; state 0 is the start.
    """

    steps: list[dict[int, int]]
    accepting: frozenset[int]

    def is_empty(self) -> bool:
        return 0 not in self.accepting and not self.steps[0]


class _Nfa:
    def __init__(self) -> None:
        self.eps: list[list[int]] = []
        self.edges: list[list[tuple[tuple[int, ...], int]]] = []

    def new(self) -> int:
        if len(self.eps) >= MAX_STATES:
            raise TooLarge(f"more than {MAX_STATES} states")
        self.eps.append([])
        self.edges.append([])
        return len(self.eps) - 1


def _clip(ranges: tuple[tuple[int, int], ...], low: int, high: int) -> tuple[tuple[int, int], ...]:
    """Return the part of the ranges inside [low, high], relative to low."""
    return tuple((max(a, low) - low, min(b, high) - low) for a, b in ranges if a <= high and b >= low)


def _add_char_class(nfa: _Nfa, ranges: tuple[tuple[int, int], ...], begin: int, end: int) -> None:
    """Add the UTF-8 spellings: a state is (continuation bytes to come, code points still possible)."""
    states: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}

    def state_for(remaining: int, part: tuple[tuple[int, int], ...]) -> int:
        if remaining == 0:
            return end
        key = (remaining, part)
        if key not in states:
            states[key] = nfa.new()
            block = 1 << (6 * (remaining - 1))
            for byte in range(64):
                rest = _clip(part, byte * block, byte * block + block - 1)
                if rest:
                    target = state_for(remaining - 1, rest)
                    nfa.edges[states[key]].append(((0x80 | byte,), target))
        return states[key]

    surrogate_free = []
    for a, b in ranges:
        if a < 0xD800:
            surrogate_free.append((a, min(b, 0xD7FF)))
        if b > 0xDFFF:
            surrogate_free.append((max(a, 0xE000), b))
    for bits, continuation, lead, least, greatest in _UTF8_FORMS:
        valid = tuple(
            (max(a, least), min(b, greatest)) for a, b in surrogate_free if a <= greatest and b >= least
        )
        block = 1 << (6 * continuation)
        for payload in range(1 << bits):
            rest = _clip(valid, payload * block, payload * block + block - 1)
            if rest:
                nfa.edges[begin].append(((lead | payload,), state_for(continuation, rest)))


def _add(
    nfa: _Nfa, expr: ir.Expr, begin: int, end: int, rules: Mapping[str, ir.Rule], inside: tuple[str, ...]
) -> None:
    match expr:
        case ir.Literal(data):
            here = begin
            for byte in data:
                after = nfa.new()
                nfa.edges[here].append(((byte,), after))
                here = after
            nfa.eps[here].append(end)
        case ir.ByteClass(mask):
            nfa.edges[begin].append((tuple(b for b in range(256) if mask >> b & 1), end))
        case ir.CharClass(ranges):
            _add_char_class(nfa, ranges, begin, end)
        case ir.Sequence(items):
            here = begin
            for item in items:
                after = nfa.new()
                _add(nfa, item, here, after, rules, inside)
                here = after
            nfa.eps[here].append(end)
        case ir.Choice(items):
            for item in items:
                left, right = nfa.new(), nfa.new()
                nfa.eps[begin].append(left)
                nfa.eps[right].append(end)
                _add(nfa, item, left, right, rules, inside)
        case ir.Repeat(item, low, high):
            here = begin
            for _ in range(low):
                after = nfa.new()
                _add(nfa, item, here, after, rules, inside)
                here = after
            if high is None:
                left, right = nfa.new(), nfa.new()
                nfa.eps[here].append(left)
                _add(nfa, item, left, right, rules, inside)
                nfa.eps[right].append(left)
                nfa.eps[left].append(end)
            else:
                nfa.eps[here].append(end)
                for _ in range(high - low):
                    left, after = nfa.new(), nfa.new()
                    nfa.eps[here].append(left)
                    _add(nfa, item, left, after, rules, inside)
                    nfa.eps[after].append(end)
                    here = after
        case ir.RuleRef(name, nonempty):
            if name in inside:
                raise NotRegular(f"recursive rule {name}")
            if nonempty:
                dfa = _drop_empty(compile_dfa(rules[name].body, rules, (*inside, name)))
                _embed(nfa, dfa, begin, end)
            else:
                _add(nfa, rules[name].body, begin, end, rules, (*inside, name))
        case ir.Intersection(items):
            dfas = [compile_dfa(item, rules, inside) for item in items]
            dfa = dfas[0]
            for other in dfas[1:]:
                dfa = _product(dfa, other, negate=False)
            _embed(nfa, dfa, begin, end)
        case ir.Complement(item):
            dfa = _product(compile_dfa(ir.ANY_TEXT, {}), compile_dfa(item, rules, inside), negate=True)
            _embed(nfa, dfa, begin, end)
        case _:
            raise NotRegular(type(expr).__name__)


def _embed(nfa: _Nfa, dfa: Dfa, begin: int, end: int) -> None:
    states = [nfa.new() for _ in dfa.steps]
    nfa.eps[begin].append(states[0])
    for q, steps in enumerate(dfa.steps):
        for byte, target in steps.items():
            nfa.edges[states[q]].append(((byte,), states[target]))
        if q in dfa.accepting:
            nfa.eps[states[q]].append(end)


def _drop_empty(dfa: Dfa) -> Dfa:
    """Return the DFA without the empty string: a fresh start state that does not accept."""
    steps = [{b: q + 1 for b, q in dfa.steps[0].items()}]
    steps += [{b: q + 1 for b, q in old.items()} for old in dfa.steps]
    return _trim(steps, {q + 1 for q in dfa.accepting})


def _product(left: Dfa, right: Dfa, *, negate: bool) -> Dfa:
    """Return left ∩ right, or left minus right; None stands for the dead state of ``right``."""
    index: dict[tuple[int, int | None], int] = {(0, 0): 0}
    todo: list[tuple[int, int | None]] = [(0, 0)]
    steps: list[dict[int, int]] = []
    accepting = set()
    for p, q in todo:
        row: dict[int, int] = {}
        steps.append(row)
        in_right = q is not None and q in right.accepting
        if p in left.accepting and in_right != negate:
            accepting.add(index[p, q])
        for byte, p2 in left.steps[p].items():
            q2 = None if q is None else right.steps[q].get(byte)
            if q2 is None and not negate:
                continue
            if (p2, q2) not in index:
                index[p2, q2] = len(todo)
                todo.append((p2, q2))
            row[byte] = index[p2, q2]
    return _trim(steps, accepting)


def _trim(steps: list[dict[int, int]], accepting: set[int]) -> Dfa:
    """Remove the states from which no accepting state can be reached (the start stays)."""
    before: list[set[int]] = [set() for _ in steps]
    for q, row in enumerate(steps):
        for target in row.values():
            before[target].add(q)
    alive = set(accepting)
    todo = list(alive)
    while todo:
        for q in before[todo.pop()]:
            if q not in alive:
                alive.add(q)
                todo.append(q)
    keep = [q for q in range(len(steps)) if q in alive or q == 0]
    number = {q: i for i, q in enumerate(keep)}
    new_steps = [{b: number[t] for b, t in steps[q].items() if t in alive} for q in keep]
    return Dfa(new_steps, frozenset(number[q] for q in accepting if q in number))


def compile_dfa(expr: ir.Expr, rules: Mapping[str, ir.Rule], inside: tuple[str, ...] = ()) -> Dfa:
    """Return the trimmed DFA of a regular expression; references are to non-recursive rules.

    Raises: NotRegular for recursion, restrictions, special tokens, captures; TooLarge.
    """
    nfa = _Nfa()
    begin, end = nfa.new(), nfa.new()
    _add(nfa, expr, begin, end, rules, inside)

    def closure(states: set[int]) -> frozenset[int]:
        todo = list(states)
        while todo:
            for target in nfa.eps[todo.pop()]:
                if target not in states:
                    states.add(target)
                    todo.append(target)
        return frozenset(states)

    first = closure({begin})
    index = {first: 0}
    order = [first]
    steps: list[dict[int, int]] = []
    for subset in order:
        targets: dict[int, set[int]] = {}
        for q in subset:
            for byte_set, target in nfa.edges[q]:
                for byte in byte_set:
                    targets.setdefault(byte, set()).add(target)
        closed: dict[frozenset[int], frozenset[int]] = {}
        row: dict[int, int] = {}
        for byte, target_set in targets.items():
            key = frozenset(target_set)
            if key not in closed:
                closed[key] = closure(target_set)
            after = closed[key]
            if after not in index:
                if len(order) >= MAX_STATES:
                    raise TooLarge(f"more than {MAX_STATES} states")
                index[after] = len(order)
                order.append(after)
            row[byte] = index[after]
        steps.append(row)
    return _trim(steps, {i for i, subset in enumerate(order) if end in subset})
