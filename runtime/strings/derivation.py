"""Draw one text by deriving it from the rules, with a matcher beside that refuses what the rules alone do not tell.

What is still to be derived is a list with its least cost. While the text is short, alternatives are taken at random;
later the cheapest, so that it ends. Where the matcher refuses (a keyword that is no name, a second key of one name), the
last choice is made otherwise. Semantic states are followed as the automaton does: actions get what was captured, and
what resolvers answer is derived from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias, cast

from stackmask.grammar import ir
from stackmask.grammar.source.work import spend
from stackmask.runtime.matching.matcher import Matcher
from stackmask.runtime.strings.costs import BYTE, NEVER, Costs, source_of

GO_ON: Final = 0.6  # how often a repetition goes on while the text is short
MOST_STEPS: Final = 50_000  # of one text
MOST_RETURNS: Final = 400  # to earlier choices
CHARACTERS: Final = 6  # that are tried in one place
PLAIN: Final = 0.9  # how often a character is a printable one of ASCII where others may stand as well


class Rounds(NamedTuple):
    """Rounds of a repetition that may still come."""

    item: ir.Expr
    least: int
    most: int | None


class Restore(NamedTuple):
    """The end of a scope: the value is again what it was."""

    value: Hashable


class RestoreKeys(NamedTuple):
    """The end of an object: the keys are again those of the object around it."""

    keys: Keys | None


class CaptureEnd(NamedTuple):
    """The end of a capture that began at a place of the text."""

    action: Any
    start: int


Item: TypeAlias = "ir.Expr | Rounds | Restore | RestoreKeys | CaptureEnd"


class Keys(NamedTuple):
    """The declared keys of an object: those that it must have, and those that it has."""

    required: frozenset[int]
    taken: frozenset[int]

    @property
    def missing(self) -> frozenset[int]:
        """Those that must still come."""
        return self.required - self.taken


class Pending(NamedTuple):
    """What is to be derived: first the item, then the others. ``cost``: of all of them."""

    item: Item
    others: Pending | None
    cost: int


class State(NamedTuple):
    """A place in a derivation. ``spans``: of captures that have ended, the last one first."""

    pending: Pending | None
    value: Hashable
    spans: tuple[Any, ...] | None
    keys: Keys | None = None


class Choice(NamedTuple):
    """Where something else may be tried: what has not been, and how many pieces the text had."""

    states: Iterator[State | tuple[State, bytes]]
    pieces: int


class Derivation:
    """One try to derive a text of about ``soft`` bytes, and at most ``most``."""

    def __init__(
        self, rules: ir.RuleSet, costs: Costs, matcher: Matcher, rng: random.Random, soft: int, most: int
    ) -> None:
        self._rules = rules.rules
        self._costs = costs
        self._matcher = matcher
        self._rng = rng
        self._soft, self._most = BYTE * soft, BYTE * most
        self._pieces: list[bytes] = []
        self._choices: list[Choice] = []
        self._length = 0  # of the text, in costs
        start = ir.RuleRef(rules.start)
        self._state = State(Pending(start, None, costs.of(start)), rules.initial, None)

    def run(self) -> bytes | None:
        """Return a text, or None where none was found in so many steps."""
        returns = 0
        for _ in range(MOST_STEPS):
            spend(2)
            if self._state.pending is None:
                if self._matcher.is_accepting():
                    return b"".join(self._pieces)
                done = False
            else:
                done = self._step(self._state, self._state.pending)
            if not done:
                returns += 1
                if returns > MOST_RETURNS or not self._return():
                    return None
        return None

    def _step(self, state: State, pending: Pending) -> bool:
        """Derive the first item; False where that is not possible."""
        item = pending.item
        match item:
            case ir.Literal():
                return self._write(item.data, state._replace(pending=pending.others))
            case ir.CharClass() | ir.ByteClass():
                after = state._replace(pending=pending.others)
                return self._choose((after, piece) for piece in self._characters(item))
            case ir.Choice():
                return self._choose(
                    state._replace(pending=p) for p in self._alternatives(item.items, pending, state.keys)
                )
            case Rounds():
                return self._repeat(state, item, pending.others)
            case CaptureEnd():
                return self._capture(state, item, pending.others)
            case Restore():
                self._state = state._replace(pending=pending.others, value=item.value)
                return True
            case RestoreKeys():
                self._state = state._replace(pending=pending.others, keys=item.keys)
                return True
            case ir.Slot() | ir.KeyTest():
                return self._key(state, item, pending.others)
            case ir.Keyed():
                after_keys = self._push([item.item, RestoreKeys(state.keys)], pending.others)
                self._state = state._replace(pending=after_keys, keys=Keys(item.spec.required, frozenset()))
                return True
            case ir.Dynamic():
                answer = self._answer(item.resolver, state.value)
                items: list[Item] = [] if answer is None else [answer]
                if answer is None:
                    return False
            case _:
                items = self._inside(state, item)
        self._state = state._replace(pending=self._push(items, pending.others))
        return True

    def _inside(self, state: State, item: Item) -> list[Item]:
        """Return what an item is made of, in order."""
        match item:
            case ir.Sequence():
                return list(item.items)
            case ir.Repeat():
                return [Rounds(item.item, item.min, item.max)]
            case ir.RuleRef():
                return [self._rules[item.name].body]
            case ir.Intersection():
                return [source_of(item)]
            case ir.Complement():
                return [Rounds(ir.ANY_CHAR, 0, None)]
            case ir.Scope():
                return [item.item, Restore(state.value)]
            case ir.Capture():
                return [item.item, CaptureEnd(item.action, self._length // BYTE)]
        return []  # conditions, which the matcher knows

    def _push(self, items: list[Item], others: Pending | None) -> Pending | None:
        for item in reversed(items):
            cost = self._cost(item) + (0 if others is None else others.cost)
            others = Pending(item, others, min(cost, NEVER))
        return others

    def _cost(self, item: Item) -> int:
        if isinstance(item, Rounds):
            return item.least * self._costs.of(item.item) if item.least else 0
        return 0 if isinstance(item, Restore | RestoreKeys | CaptureEnd) else self._costs.of(item)

    # -- choices -----------------------------------------------------------------------------------

    def _choose(self, states: Iterator[Any]) -> bool:
        self._choices.append(Choice(states, len(self._pieces)))
        return self._next()

    def _next(self) -> bool:
        """Take the next possibility of the last choice; False if there is none left."""
        choice = self._choices[-1]
        for state in choice.states:
            if isinstance(state, State):
                self._state = state
                return True
            after, piece = state
            if self._write(piece, after):
                return True
        self._choices.pop()
        return False

    def _return(self) -> bool:
        """Go back to the last choice that has another possibility; False if there is none."""
        while self._choices:
            surplus = len(self._pieces) - self._choices[-1].pieces
            if surplus:
                self._matcher.rollback(surplus)
                self._length -= BYTE * sum(map(len, self._pieces[-surplus:]))
                del self._pieces[-surplus:]
            if self._next():
                return True
        return False

    def _write(self, piece: bytes, after: State) -> bool:
        if piece:
            if self._length + BYTE * len(piece) > self._most or not self._matcher.accept_string(piece):
                return False
            self._pieces.append(piece)
            self._length += BYTE * len(piece)
        self._state = after
        return True

    def _alternatives(
        self, items: tuple[ir.Expr, ...], pending: Pending, keys: Keys | None
    ) -> Iterator[Pending]:
        others = pending.others
        waiting = 0 if others is None else others.cost
        room = self._most - self._length - waiting
        spend(len(items) // 4)
        fitting = [item for item in items if self._costs.of(item) <= room]
        self._rng.shuffle(fitting)
        if self._is_long(waiting):
            fitting.sort(key=self._costs.of)
            if keys is not None and keys.missing:  # what must come anyway
                missing = frozenset(keys.missing)
                fitting.sort(key=lambda item: _slot_of(item) not in missing)
        for item in fitting:
            yield cast("Pending", self._push([item], others))

    def _is_long(self, waiting: int) -> bool:
        return self._length + waiting >= self._soft  # mutant: soft-end

    def _repeat(self, state: State, rounds: Rounds, others: Pending | None) -> bool:
        """Derive one more round, or none."""
        most = None if rounds.most is None else rounds.most - 1
        after = Rounds(rounds.item, max(0, rounds.least - 1), most)
        going = state._replace(pending=self._push([rounds.item, after], others))
        if rounds.least:
            self._state = going
            return True
        ended = state._replace(pending=others)
        if rounds.most == 0 or self._costs.of(rounds.item) >= NEVER:
            self._state = ended
            return True
        goes_on = self._rng.random() < GO_ON and not self._is_long(0 if others is None else others.cost)
        if not goes_on and state.keys is not None and state.keys.missing:
            goes_on = self._costs.has_slot(rounds.item)
        return self._choose(iter((going, ended) if goes_on else (ended, going)))

    def _characters(self, item: ir.CharClass | ir.ByteClass) -> Iterator[bytes]:
        """Yield some characters of a class that may come here, each once."""
        expected = self._matcher.expected_bytes()
        if isinstance(item, ir.ByteClass):
            found = [bytes([b]) for b in sorted(expected) if item.mask >> b & 1]
            yield from self._rng.sample(found, min(CHARACTERS, len(found)))
            return
        spend(len(item.ranges) // 8)
        ascii_ones = [
            c for low, high in item.ranges for c in range(low, min(high, 0x7F) + 1) if c in expected
        ]
        plain = [c for c in ascii_ones if c > 0x20] or ascii_ones
        codes = self._rng.sample(plain, min(CHARACTERS, len(plain)))
        others = [span for span in item.ranges if span[1] > 0x7F]
        if others and max(expected, default=0) > 0x7F:
            wide = [self._wide(others, expected) for _ in range(CHARACTERS)]
            codes = [*codes, *wide] if self._rng.random() < PLAIN else [*wide, *codes]
        codes.extend(c for c in ascii_ones if c not in codes)
        for code in dict.fromkeys(codes):
            if code >= 0:
                yield chr(code).encode()

    def _wide(self, spans: list[tuple[int, int]], expected: set[int]) -> int:
        """Return a character beyond ASCII that may begin here, or -1 if none was hit."""
        for _ in range(CHARACTERS):
            low, high = self._rng.choice(spans)
            code = self._rng.randint(max(low, 0x80), high)
            if chr(code).encode()[0] in expected:
                return code
        return -1

    # -- keys --------------------------------------------------------------------------------------

    def _key(self, state: State, item: ir.Slot | ir.KeyTest, others: Pending | None) -> bool:
        """Take a declared key, or test whether the object may end; the matcher knows all other conditions."""
        keys = state.keys
        if keys is not None and isinstance(item, ir.Slot):
            if item.index in keys.taken:
                return False
            keys = keys._replace(taken=keys.taken | {item.index})
        elif keys is not None and isinstance(item, ir.KeyTest) and item.kind == "close" and keys.missing:
            return False
        self._state = state._replace(pending=others, keys=keys)
        return True

    # -- semantic states ---------------------------------------------------------------------------

    def _capture(self, state: State, end: CaptureEnd, others: Pending | None) -> bool:
        """End a capture; False where its action forbids that."""
        here = self._length // BYTE
        inner: list[tuple[int, int]] = []
        spans = state.spans
        while spans is not None and spans[0][0] >= end.start:
            inner.append(spans[0])
            spans = spans[1]
        spans = ((end.start, here), spans)
        value = state.value
        if end.action == "push":
            value = (*cast("tuple[bytes, ...]", value), self._text(end.start, here, []))
        elif callable(end.action):
            most = getattr(end.action, "reads_at_most", None)
            if most is None:
                text = self._text(end.start, here, [])
            else:
                text = self._text(end.start, here, inner)[:most] if most else b""
            value = end.action(value, text)
            if value is None:
                return False
        self._state = state._replace(pending=others, value=value, spans=spans)
        return True

    def _text(self, start: int, end: int, without: list[tuple[int, int]]) -> bytes:
        text = b"".join(self._pieces)
        kept = []
        for low, high in reversed(without):
            kept.append(text[start:low])
            start = high
        return b"".join([*kept, text[start:end]])

    def _answer(self, resolver: Any, value: Hashable) -> ir.Expr | None:
        if resolver == "top":
            stack = cast("tuple[bytes, ...]", value)
            return ir.Literal(stack[-1]) if stack else None
        return cast("Callable[[Hashable], ir.Expr]", resolver)(value)


def _slot_of(expr: ir.Expr) -> int:
    """Return the declared key that an alternative takes, or -1."""
    if isinstance(expr, ir.Sequence):
        return next((item.index for item in expr.items if isinstance(item, ir.Slot)), -1)
    return -1
