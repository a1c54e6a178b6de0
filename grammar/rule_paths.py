"""The rules that enclose the end of a text: the path of names in the message of a refusal.

The engine drops the names of rules, since it inlines small rules and merges equal ones. So the text is parsed
again with the rules as written, by Earley's method (1970): each rule is a small automaton, and a *call* is a
rule with the position where it began. Unsupported constructs accept any text (`!`, `@top`, `!>>`, high
counts). This can only add parses, so a call that encloses the end in every parse does so in the true parse.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, TypeAlias

from stackmask.grammar import ir
from stackmask.grammar.source.work import ENDLESS, STEP, BudgetError, Work, counted, spend

MAX_STEPS: Final = 300_000  # of the reading, about 0.2 s; a text or a grammar that takes more has no path
MAX_COPIES: Final = 4  # of what is repeated; higher counts are taken for no count
MAX_SHOWN: Final = 4  # names of a path, the innermost ones

_LEADS: Final = ((0xC2, 0xDF), (0xE0, 0xEF), (0xF0, 0xF4))  # of characters of two, three and four bytes
_ALL: Final = (1 << 256) - 1

Symbol: TypeAlias = int | bytes
"""A byte of text, or a special token by its id."""


def rule_path(rules: ir.RuleSet, symbols: Iterable[Symbol]) -> tuple[str, ...]:
    """Return the names of the rules that enclose the end of a text in every parse, outermost first.

    The start rule and generated rules are excluded. Empty if the rules have no source, or the text takes too
    long.
    Cost: about 2 µs for each active rule at each byte.
    """
    reading = RulePaths(rules)
    for symbol in symbols:
        reading.take(symbol)
    return reading.path()


class RulePaths:
    """The rule path of a text that is read symbol by symbol, as ``rule_path`` for each prefix."""

    def __init__(self, rules: ir.RuleSet, max_steps: int = MAX_STEPS) -> None:
        self._rules = rules
        self._reading: _Reading | None = None
        # of an account of its own, of which one call may use three quarters
        self._work = Work(4 * STEP * max_steps // 3, ENDLESS, ENDLESS)
        with suppress(BudgetError), counted(self._work):
            self._reading = _Reading(rules) if rules.sources else None

    def take(self, symbol: Symbol) -> None:
        """Read more text. Cost: about 2 µs for each active rule at each byte."""
        try:
            with counted(self._work):
                if self._reading is not None and not self._reading.take(symbol):
                    self._reading = None
        except BudgetError:
            self._reading = None

    def path(self) -> tuple[str, ...]:
        """Return the names; empty once no parse is left, or parsing takes too long."""
        if self._reading is None:
            return ()
        try:
            with counted(self._work):
                calls = self._reading.common_calls()
        except BudgetError:
            self._reading = None
            return ()
        rules = self._rules.rules
        # with a skip rule, a generated rule calls the start rule
        # the start rule is not part of the path
        outer = 1 if rules[self._rules.start].span is not None else 2
        names: list[str] = []
        for name in calls[outer:]:
            if rules[name].span is not None and names[-1:] != [name]:
                names.append(name)
        return tuple(names)


def shown_path(names: tuple[str, ...]) -> str:
    """Return a path in words, with only its innermost names."""
    shown = " → ".join(f"`{name}`" for name in names[-MAX_SHOWN:])
    return f"… → {shown}" if len(names) > MAX_SHOWN else shown


class _Automata:
    """The rules as automata over bytes and calls; each is built at its first call."""

    def __init__(self, rules: ir.RuleSet) -> None:
        self.rules = rules
        self.entries: dict[str, tuple[int, int]] = {}
        # of each state: steps without a symbol, (bytes, target), (rule, target), targets of special tokens
        self.empty: list[list[int]] = []
        self.bytes: list[list[tuple[int, int]]] = []
        self.calls: list[list[tuple[str, int]]] = []
        self.tokens: list[list[int]] = []

    def entry(self, name: str) -> tuple[int, int]:
        """Return the first and the last state of a rule."""
        found = self.entries.get(name)
        if found is None:
            found = self.entries[name] = (self.state(), self.state())
            self.write(self.rules.rules[name].body, *found)
        return found

    def state(self) -> int:
        spend(4)
        for table in (self.empty, self.bytes, self.calls, self.tokens):
            table.append([])
        return len(self.empty) - 1

    def write(self, body: ir.Expr, first: int, last: int) -> None:
        """Add the states of an expression between two states."""
        todo: list[tuple[ir.Expr, int, int]] = [(body, first, last)]
        while todo:
            expr, a, b = todo.pop()
            spend(1)
            match expr:
                case ir.Literal(data):
                    for byte in data[:-1]:
                        self.bytes[a].append((1 << byte, a := self.state()))
                    if data:
                        self.bytes[a].append((1 << data[-1], b))
                    else:
                        self.empty[a].append(b)
                case ir.ByteClass(mask):
                    self.bytes[a].append((mask, b))
                case ir.CharClass(ranges):
                    self.characters(ranges, a, b)
                case ir.Sequence(items):
                    for item in items[:-1]:
                        todo.append((item, a, a := self.state()))
                    if items:
                        todo.append((items[-1], a, b))
                    else:
                        self.empty[a].append(b)
                case ir.Choice(items):
                    spend(len(items))
                    todo += [(item, a, b) for item in items]
                case ir.Repeat(item, low, high):
                    todo += self.repeated(item, low, high, a, b)
                case ir.RuleRef(name):
                    self.calls[a].append((name, b))
                case ir.TokenTerminal():
                    self.tokens[a].append(b)
                case ir.Capture(item) | ir.Scope(item) | ir.Keyed(item):
                    todo.append((item, a, b))
                case ir.Intersection(items):
                    told = [item for item in items if not isinstance(item, ir.Complement)]
                    if told:
                        todo.append((told[0], a, b))
                    else:
                        self.any_text(a, b)
                case ir.Complement() | ir.Dynamic():
                    self.any_text(a, b)
                case _:  # tests that read nothing
                    self.empty[a].append(b)

    def characters(self, ranges: tuple[tuple[int, int], ...], a: int, b: int) -> None:
        ascii_bytes = 0
        spend(len(ranges))
        for low, high in ranges:
            if low < 0x80:
                ascii_bytes |= (1 << (min(high, 0x7F) + 1)) - (1 << low)
        if ascii_bytes:
            self.bytes[a].append((ascii_bytes, b))
        if ranges and ranges[-1][1] >= 0x80:
            target = b
            for low, high in _LEADS:
                after, target = target, self.state()
                self.bytes[target].append((_span(0x80, 0xBF), after))
                self.bytes[a].append((_span(low, high), target))

    def repeated(
        self, item: ir.Expr, low: int, high: int | None, a: int, b: int
    ) -> list[tuple[ir.Expr, int, int]]:
        parts: list[tuple[ir.Expr, int, int]] = []
        for _ in range(min(low, MAX_COPIES)):
            parts.append((item, a, a := self.state()))
        if high is not None and high <= MAX_COPIES:
            for _ in range(high - low):
                self.empty[a].append(b)
                parts.append((item, a, a := self.state()))
            self.empty[a].append(b)
        else:
            loop = self.state()
            self.empty[a].append(loop)
            parts.append((item, loop, loop))
            self.empty[loop].append(b)
        return parts

    def any_text(self, a: int, b: int) -> None:
        loop = self.state()
        self.empty[a].append(loop)
        self.bytes[loop].append((_ALL, loop))
        self.empty[loop].append(b)


def _span(low: int, high: int) -> int:
    return (1 << (high + 1)) - (1 << low)


class _Reading:
    """All parses of a text so far, as items (state, call), and the calls that wait for each call."""

    def __init__(self, rules: ir.RuleSet) -> None:
        self.automata = _Automata(rules)
        self.names: list[str] = []  # of the calls
        self.waiting: list[list[tuple[int, int]]] = []  # items that go on when a call ends
        self.parents: list[dict[int, None]] = []
        self.here: dict[str, int] = {}  # calls that begin at this place
        self.ended: set[int] = set()  # and those of them that end there
        self.items: dict[tuple[int, int], None] = {}
        self.call(rules.start)
        self.close([(self.automata.entry(rules.start)[0], 0)])

    def call(self, name: str) -> int:
        """Return the call of a rule at this position, creating it if necessary."""
        found = self.here.get(name)
        if found is None:
            found = self.here[name] = len(self.names)
            self.names.append(name)
            self.waiting.append([])
            self.parents.append({})
        return found

    def take(self, symbol: Symbol) -> bool:
        """Read text or a special token. Return False if no parse is left."""
        automata = self.automata
        if not isinstance(symbol, bytes):
            self.begin_place()
            return self.close([(b, call) for a, call in self.items for b in automata.tokens[a]])
        for byte in symbol:
            items = self.items
            self.begin_place()
            spend(sum(len(automata.bytes[a]) for a, _ in items))
            after = [(b, call) for a, call in items for mask, b in automata.bytes[a] if (mask >> byte) & 1]
            if not self.close(after):
                return False
        return True

    def begin_place(self) -> None:
        self.here, self.ended = {}, set()

    def close(self, todo: list[tuple[int, int]]) -> bool:
        """Add all items that can be reached without reading, through calls and the ends of calls."""
        automata = self.automata
        items: dict[tuple[int, int], None] = {}
        while todo:
            item = todo.pop()
            if item in items:
                continue
            items[item] = None
            state, call = item
            spend(1 + len(automata.empty[state]) + 2 * len(automata.calls[state]))
            todo += [(b, call) for b in automata.empty[state]]
            for name, back in automata.calls[state]:
                is_new = name not in self.here
                callee = self.call(name)
                self.parents[callee][call] = None
                self.waiting[callee].append((back, call))  # mutant: return-place
                if is_new:
                    todo.append((automata.entry(name)[0], callee))
                elif callee in self.ended:
                    todo.append((back, call))
            if state == automata.entry(self.names[call])[1]:
                self.ended.add(call)
                spend(len(self.waiting[call]))
                todo += self.waiting[call]
        self.items = items
        return bool(items)

    def common_calls(self) -> list[str]:
        """Return the rules of the calls that all parses have in common at the end, outermost first.

        Cost: linear in the calls and their callers.
        """
        automata = self.automata
        last = {call: None for state, call in self.items if automata.bytes[state] or automata.tokens[state]}
        last = last or {call: None for _, call in self.items}
        path = self.way_out(last)
        place = {call: at for at, call in enumerate(path)}
        seen = set(last)
        todo = list(last)
        farthest = -1  # on the path, of what the calls so far lead to
        common: list[str] = []
        for at, call in enumerate(path):
            while todo:
                inner = todo.pop()
                spend(1)
                if inner in place:
                    farthest = max(farthest, place[inner])
                    continue
                todo += [caller for caller in self.parents[inner] if caller not in seen]
                seen.update(self.parents[inner])
            if farthest == at:  # no way leads past it
                common.append(self.names[call])
            todo = [caller for caller in self.parents[call] if caller not in seen]
            seen.update(todo)
        return common[::-1]

    def way_out(self, last: Iterable[int]) -> list[int]:
        """Return one of the calls, its caller, the caller of this one and so on, up to call 0."""
        came_from: dict[int, int | None] = dict.fromkeys(last)
        todo = list(came_from)
        for call in todo:  # grows
            spend(1)
            if call == 0:
                break
            for caller in self.parents[call]:
                if caller not in came_from:
                    came_from[caller] = call
                    todo.append(caller)
        path: list[int] = []
        at: int | None = 0
        while at is not None:
            path.append(at)
            at = came_from[at]
        return path[::-1]
