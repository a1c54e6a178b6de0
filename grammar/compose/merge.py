"""Put the rules of several grammars into one rule set, each under a namespace of its own.

A rule of the part ``order`` becomes ``order/…``. The rules of any JSON value are the same for all schemas: equal ones
stay one rule, so that they are lowered once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from threading import Lock
from typing import Final, NamedTuple

from stackmask.grammar.ir import (
    Capture,
    Dynamic,
    Expr,
    KeyTest,
    NotFollowedBy,
    Rule,
    RuleRef,
    RuleSet,
    Scope,
    Slot,
    SourceText,
    walk,
)
from stackmask.grammar.ir.build import choice, repeat, rewrite, sequence
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.work import enter, spend

START: Final = "root"
SEPARATOR: Final = "/"  # of a part and its rules
MAX_PLACED: Final = 20_000  # rules that are remembered under their namespaces; then all are forgotten
_SHARED: Final = "json"  # rules of any JSON value are named so, or begin so with a dot


class Merged(NamedTuple):
    """The rules of a whole, and whether they are in normal form."""

    rules: RuleSet
    is_ready: bool


class Merger:
    """Collects parts; ``rule_set`` closes it. Parts are rule sets in normal form."""

    def __init__(self, taken: Iterable[str] = (), sources: Iterable[SourceText] = ()) -> None:
        """Begin with no parts. ``taken``: names of rules that parts are put beside; ``sources``: theirs."""
        self.rules: dict[str, Rule] = {START: Rule(START, sequence(()))}
        self.sources: list[SourceText] = list(sources)
        self._shares = not any(name == _SHARED or name.startswith(_SHARED + ".") for name in taken)
        self.initial: Hashable = ()
        self._owner = ""  # of the initial state
        self._stateful = ""  # a part that reads or writes it, and begins with the empty one
        self._parts: dict[tuple[str, int], tuple[RuleSet, Expr]] = {}
        self._names: set[str] = set()
        self._shared: dict[str, Rule] = {}
        self._defined: set[str] = set()
        self._owned: list[str] = []  # start rules of parts
        self._kinds: set[type] = set()

    def add(self, part: RuleSet, name: str = "") -> Expr:
        """Add a part and return the expression that means it; the same part is added once.

        ``name``: what its rules and diagnostics are called by.
        Raises: GrammarError (G120) if its semantic state does not go with that of another part.
        """
        known = self._parts.get((name, id(part)))
        if known is not None:
            return known[1]
        enter("putting grammars together")
        prefix = self._fresh(name)
        shared = self._find_shared(part)
        offset = len(self.sources)
        self.sources += part.sources
        own = prefix + SEPARATOR  # mutant: own-name
        found = _placed(part, own, frozenset(shared), offset)
        for old in shared:
            self.rules[old] = self._shared[old]
        self.rules.update(found.rules)
        self._kinds |= found.kinds
        keeps_state = found.keeps_state
        start = part.start if part.start in shared else own + part.start
        self._owned.append(start)
        self._join_state(part, prefix, keeps_state)
        meaning: Expr = RuleRef(start)
        if keeps_state:
            meaning = Scope(meaning)
        self._parts[name, id(part)] = (part, meaning)
        return meaning

    def define(self, name: str, body: Expr) -> Expr:
        """Add a rule of the whole, under this name or one like it, and return a reference to it."""
        full = self._fresh(name)
        self.rules[full] = Rule(full, body)
        self._defined.add(full)
        return RuleRef(full)

    def finish(self, body: Expr, needs_passes: bool = False) -> Merged:
        """Return the rules, with this expression as the start rule.

        ``needs_passes``: whether a rule of the whole may have no text, or is otherwise not in normal form.
        """
        self.rules[START] = Rule(START, body)
        used = self._used()
        if not used.issuperset(self._owned) or not used.issuperset(self._defined):
            needs_passes = True  # there are rules that nothing reaches
        restricts = NotFollowedBy in self._kinds and not self._kinds.isdisjoint({Dynamic, Slot, KeyTest})
        rules = RuleSet(self.rules, START, self.initial, tuple(self.sources))
        return Merged(rules, not needs_passes and not restricts)

    def hold(self, rules: RuleSet, name: str, keeps_state: bool) -> None:
        """Take in the semantic state of rules that parts are put into."""
        self._join_state(rules, name, keeps_state)

    def parts(self) -> dict[str, Rule]:
        """Return the rules of all parts, without a start rule of the whole."""
        return {name: rule for name, rule in self.rules.items() if name != START}

    def _used(self) -> set[str]:
        """Return the rules of the whole, and the start rules of parts, that the start rule leads to."""
        used = {START}
        todo = [START]
        while todo:
            for node in walk(self.rules[todo.pop()].body):
                if isinstance(node, RuleRef) and node.name not in used:
                    used.add(node.name)
                    if node.name in self._defined:
                        todo.append(node.name)
        spend(len(used))
        return used

    def _fresh(self, name: str) -> str:
        """Return a name for a part, or for a rule of the whole, that no other one has."""
        wanted = name.replace(SEPARATOR, "-") or "part"
        count = 1
        found = wanted
        if not name or wanted in self._names or wanted == START or wanted.startswith(_SHARED):
            count = len(self._names) + 1
            found = f"{wanted}{count}"
            while found in self._names:
                count += 1
                found = f"{wanted}{count}"
        self._names.add(found)
        return found

    def _find_shared(self, part: RuleSet) -> set[str]:
        """Return the rules of any JSON value that this part has as the parts before it had them."""
        if not self._shares:
            return set()
        found = {
            name
            for name, rule in part.rules.items()
            if (name == _SHARED or name.startswith(_SHARED + "."))
            and name != part.start
            and (name not in self._shared or self._shared[name].body == rule.body)
        }
        changed = True
        while changed:
            spend(4 * len(found))
            closed = {
                name
                for name in found
                if all(
                    node.name in found for node in walk(part.rules[name].body) if isinstance(node, RuleRef)
                )
            }
            changed = len(closed) < len(found)
            found = closed
        for name in found:
            self._shared.setdefault(name, part.rules[name])
        return found

    def _join_state(self, part: RuleSet, name: str, keeps_state: bool) -> None:
        if part.initial != ():
            if self._owner and self.initial != part.initial:
                raise _clash(self._owner, name)
            if self._stateful:
                raise _clash(self._stateful, name)
            self.initial, self._owner = part.initial, name
        elif keeps_state:
            if self._owner:
                raise _clash(self._owner, name)
            self._stateful = name


def _clash(one: str, other: str) -> GrammarError:
    return GrammarError(
        [
            Diagnostic(
                "G120",
                f"`{one}` and `{other}` keep track of what was written, and begin with different states",
                help="let one grammar hold one of them only; blanks by pattern or number keep no track, indented ones do",
            )
        ]
    )


class Placed(NamedTuple):
    """The rules of a part under its namespace, and what they are made of."""

    part: RuleSet
    rules: dict[str, Rule]
    kinds: frozenset[type]
    keeps_state: bool


class PlacedParts:
    """The parts that were put under namespaces before, as many as ``MAX_PLACED`` allows. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._parts: dict[tuple[int, str, frozenset[str], int], Placed] = {}
        self._rules = 0

    def get(self, key: tuple[int, str, frozenset[str], int]) -> Placed | None:
        """Return what was made of a part, if it is still known. The key holds its address: it lives as long."""
        return self._parts.get(key)

    def put(self, key: tuple[int, str, frozenset[str], int], placed: Placed) -> None:
        """Remember a part, unless it has too many rules of its own."""
        size = 1 + len(placed.part.rules)
        if size > MAX_PLACED // 4:
            return
        with self._lock:
            if self._rules + size > MAX_PLACED:
                self._parts = {}
                self._rules = 0
            if key not in self._parts:
                self._parts[key] = placed
                self._rules += size


_placed_parts = PlacedParts()


def _placed(part: RuleSet, own: str, shared: frozenset[str], offset: int) -> Placed:
    """Return the rules of a part under names that begin with ``own``, the same objects for the same part."""
    key = (id(part), own, shared, offset)
    known = _placed_parts.get(key)
    if known is not None:
        spend(1 + len(known.rules))
        return known
    names = {old: old if old in shared else own + old for old in part.rules}
    rules = {}
    kinds: set[type] = set()
    keeps_state = False
    for old, rule in part.rules.items():
        for node in walk(rule.body):
            kinds.add(type(node))
            if isinstance(node, Capture) and node.action != "key":
                keeps_state = True
        if old in shared:
            continue
        span = rule.span
        if span is not None and offset:
            span = replace(span, source=span.source + offset)
        rules[names[old]] = Rule(names[old], _renamed(rule.body, names), span)
    found = Placed(part, rules, frozenset(kinds), keeps_state or Dynamic in kinds)
    _placed_parts.put(key, found)
    return found


def _renamed(body: Expr, names: dict[str, str]) -> Expr:
    if all(names[node.name] == node.name for node in walk(body) if isinstance(node, RuleRef)):
        spend(1)
        return body  # the same object: what is known of it stays known

    def leaf(expr: Expr) -> Expr:
        spend(1)
        if isinstance(expr, RuleRef):
            return RuleRef(names[expr.name], expr.nonempty)
        return expr

    return rewrite(body, leaf)


def named(name: str, read: Callable[[], RuleSet]) -> RuleSet:
    """Return what ``read`` makes; its diagnostics name the part. Raises: GrammarError."""
    try:
        return read()
    except GrammarError as error:
        if not name:
            raise
        problems = [replace(found, message=f"in `{name}`: {found.message}") for found in error.diagnostics]
        raise GrammarError(problems, error.sources) from None


def union(parts: list[tuple[str, RuleSet]]) -> Merged:
    """Return the rules of the texts of any part."""
    merger = Merger()
    return merger.finish(choice([merger.add(part, name) for name, part in parts]))


def concat(parts: list[tuple[str, RuleSet]]) -> Merged:
    """Return the rules of a text of each part, one after the other."""
    merger = Merger()
    return merger.finish(sequence([merger.add(part, name) for name, part in parts]))


def repeated(part: RuleSet, low: int, high: int | None) -> Merged:
    """Return the rules of ``low`` to ``high`` texts of the part, one after the other."""
    merger = Merger()
    return merger.finish(repeat(merger.add(part), low, high))
