"""Pass 4: drop `&` and `!` expressions that match nothing, and with them the rules that need them.

Emptiness is decided by derivatives (Brzozowski 1964): from the expression, follow bytes breadth first until
an expression is nullable. Terms are hash-consed tuples, so equal ones are visited once.
"""

from __future__ import annotations

from stackmask.grammar.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.ir import (
    ANY_TEXT,
    EPSILON,
    NOTHING,
    ByteClass,
    CharClass,
    Choice,
    Complement,
    Expr,
    Intersection,
    Literal,
    Repeat,
    RuleSet,
    Sequence,
    children,
    walk,
)
from stackmask.grammar.normalize.build import rebuild, with_bodies
from stackmask.grammar.normalize.left_parts import nonempty_part
from stackmask.grammar.normalize.nullable import ends_of
from stackmask.grammar.normalize.productive import remove_useless

MAX_STATES = 20_000  # derivatives looked at for one expression

Ranges = tuple[tuple[int, int], ...]
ALL_BYTES = (1 << 256) - 1
# lead byte, payload bits of the lead byte, continuation bytes, least and greatest code point
_FORMS = (
    (0x00, 7, 0, 0, 0x7F),
    (0xC0, 5, 1, 0x80, 0x7FF),
    (0xE0, 4, 2, 0x800, 0xFFFF),
    (0xF0, 3, 3, 0x10000, 0x10FFFF),
)


def drop_empty_booleans(ruleset: RuleSet) -> RuleSet:
    """Return the RuleSet without `&` and `!` that match nothing, or no more than ε.

    Raises: GrammarError (G102, G103 for rules that then derive nothing; G117 where the search is too long).
    Cost: few derivatives where something matches; up to ``MAX_STATES`` of them where nothing does.
    """
    if not any(
        isinstance(e, Intersection | Complement) for r in ruleset.rules.values() for e in walk(r.body)
    ):
        return ruleset
    verdicts: dict[Expr, Expr] = {}
    problems: list[Diagnostic] = []

    def prune(expr: Expr) -> Expr:
        if isinstance(expr, Intersection | Complement):
            if expr not in verdicts:
                verdicts[expr] = expr
                try:
                    verdicts[expr] = _simplest(expr)
                except _TooManyStates:
                    problems.append(
                        Diagnostic(
                            "G117",
                            f"cannot tell within {MAX_STATES} steps whether anything matches here",
                            expr.span,
                            help="make the operands of `&`, `-` or `!` smaller",
                        )
                    )
            return verdicts[expr]
        items = children(expr)
        return rebuild(expr, tuple(map(prune, items))) if items else expr

    bodies = {name: prune(rule.body) for name, rule in ruleset.rules.items()}
    if problems:
        raise GrammarError(problems, ruleset.sources)
    return remove_useless(with_bodies(ruleset, bodies)) if verdicts else ruleset


def _simplest(expr: Expr) -> Expr:
    """Return ∅ or ε where the expression is no more than that."""
    if is_empty(expr):
        return NOTHING
    if ends_of(expr, {}) and is_empty(nonempty_part(expr, {})):
        return EPSILON
    return expr


def is_empty(expr: Expr) -> bool:
    """Tell whether a regular expression without references matches nothing."""
    terms = _Terms()
    start = terms.compile(expr)
    seen = {start}
    todo = [start]
    for term in todo:
        if terms.nullable[term]:
            return False
        for byte in terms.first_bytes(term):
            after = terms.derive(term, byte)
            if after != terms.nothing and after not in seen:
                seen.add(after)
                todo.append(after)
        if len(todo) > MAX_STATES:
            raise _TooManyStates
    return True


class _TooManyStates(Exception):
    """The search has met its limit."""


class _Terms:
    """Terms by number: a tuple each, whether it is nullable, and which bytes it may begin with."""

    def __init__(self) -> None:
        self.index: dict[tuple[object, ...], int] = {}
        self.parts: list[tuple[object, ...]] = []
        self.nullable: list[bool] = []
        self.first: list[int] = []
        self.derivatives: dict[tuple[int, int], int] = {}
        self.nothing = self._make(("bytes", 0), False, 0)
        self.empty = self._make(("empty",), True, 0)

    def _make(self, key: tuple[object, ...], nullable: bool, first: int) -> int:
        if key not in self.index:
            self.index[key] = len(self.parts)
            self.parts.append(key)
            self.nullable.append(nullable)
            self.first.append(first)
        return self.index[key]

    def first_bytes(self, term: int) -> list[int]:
        mask = self.first[term]
        return [b for b in range(256) if mask >> b & 1]

    def compile(self, expr: Expr) -> int:
        match expr:
            case Literal(data):
                term = self.empty
                for byte in reversed(data):
                    term = self.seq(self.bytes(1 << byte), term)
                return term
            case ByteClass(mask):
                return self.bytes(mask)
            case CharClass(ranges):
                return self.characters(ranges)
            case Sequence(items):
                term = self.empty
                for item in reversed(items):
                    term = self.seq(self.compile(item), term)
                return term
            case Choice(items):
                return self.alt({self.compile(item) for item in items})
            case Repeat(item, low, high):
                return self.repeat(self.compile(item), low, high)
            case Intersection(items):
                return self.both({self.compile(item) for item in items})
            case Complement(item):
                return self.both({self.compile(ANY_TEXT), self.negation(self.compile(item))})
        raise TypeError(f"not a regular expression: {expr!r}")

    def bytes(self, mask: int) -> int:
        return self._make(("bytes", mask), False, mask)

    def characters(self, ranges: Ranges) -> int:
        if not ranges:
            return self.nothing
        first = 0
        for lead, bits, continuation, least, greatest in _FORMS:
            for payload in range(1 << bits):
                if _clip(
                    ranges,
                    max(payload << 6 * continuation, least),
                    min(_last(payload, continuation), greatest),
                ):
                    first |= 1 << (lead | payload)
        return self._make(("char", ranges), False, first)

    def tail(self, remaining: int, ranges: Ranges) -> int:
        """Return ``remaining`` continuation bytes that spell one of the (relative) ranges."""
        if not remaining:
            return self.empty
        first = 0
        for payload in range(64):
            if _clip(ranges, payload << 6 * (remaining - 1), _last(payload, remaining - 1)):
                first |= 1 << (0x80 | payload)
        return self._make(("tail", remaining, ranges), False, first)

    def seq(self, a: int, b: int) -> int:
        if a == self.nothing or b == self.nothing:
            return self.nothing
        if a == self.empty or b == self.empty:
            return b if a == self.empty else a
        first = self.first[a] | (self.first[b] if self.nullable[a] else 0)
        return self._make(("seq", a, b), self.nullable[a] and self.nullable[b], first)

    def alt(self, items: set[int]) -> int:
        flat: set[int] = set()
        for item in items:
            match self.parts[item]:
                case ("alt", frozenset(inner)):
                    flat |= inner
                case _:
                    flat.add(item)
        flat.discard(self.nothing)
        if len(flat) < 2:
            return flat.pop() if flat else self.nothing
        first = 0
        for item in flat:
            first |= self.first[item]
        return self._make(("alt", frozenset(flat)), any(self.nullable[i] for i in flat), first)

    def both(self, items: set[int]) -> int:
        if len(items) == 1:
            return next(iter(items))
        first = ALL_BYTES
        for item in items:
            first &= self.first[item]
        nullable = all(self.nullable[i] for i in items)
        if not first and not nullable:
            return self.nothing
        return self._make(("and", frozenset(items)), nullable, first)

    def negation(self, item: int) -> int:
        return self._make(("not", item), not self.nullable[item], ALL_BYTES)

    def repeat(self, item: int, low: int, high: int | None) -> int:
        if high == 0 or item == self.empty:
            return self.empty
        if item == self.nothing:
            return self.empty if low == 0 else self.nothing
        return self._make(("repeat", item, low, high), low == 0 or self.nullable[item], self.first[item])

    def derive(self, term: int, byte: int) -> int:
        key = (term, byte)
        if key not in self.derivatives:
            self.derivatives[key] = self._derive(term, byte) if self.first[term] >> byte & 1 else self.nothing
        return self.derivatives[key]

    def _derive(self, term: int, byte: int) -> int:
        match self.parts[term]:
            case ("bytes", _):
                return self.empty
            case ("char", tuple(ranges)):
                for lead, bits, continuation, least, greatest in _FORMS:
                    payload = byte - lead
                    if 0 <= payload < 1 << bits:
                        start = payload << 6 * continuation
                        found = _clip(ranges, max(start, least), min(_last(payload, continuation), greatest))
                        return self.tail(continuation, tuple((a - start, b - start) for a, b in found))
            case ("tail", int(remaining), tuple(ranges)):
                start = (byte - 0x80) << 6 * (remaining - 1)
                found = _clip(ranges, start, _last(byte - 0x80, remaining - 1))
                return self.tail(remaining - 1, tuple((a - start, b - start) for a, b in found))
            case ("seq", int(a), int(b)):
                first = self.seq(self.derive(a, byte), b)
                return self.alt({first, self.derive(b, byte)}) if self.nullable[a] else first
            case ("alt", frozenset(items)):
                return self.alt({self.derive(item, byte) for item in items})
            case ("and", frozenset(items)):
                return self.both({self.derive(item, byte) for item in items})
            case ("not", int(item)):
                return self.negation(self.derive(item, byte))
            case ("repeat", int(item), int(low), high):
                assert high is None or isinstance(high, int)
                rest = self.repeat(item, max(low - 1, 0), None if high is None else high - 1)
                return self.seq(self.derive(item, byte), rest)
        raise AssertionError(self.parts[term])


def _last(payload: int, continuation: int) -> int:
    return (payload + 1 << 6 * continuation) - 1


def _clip(ranges: Ranges, low: int, high: int) -> Ranges:
    return tuple((max(a, low), min(b, high)) for a, b in ranges if a <= high and b >= low)
