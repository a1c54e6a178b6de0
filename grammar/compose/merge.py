"""Put the rules of several grammars into one rule set, each under a namespace of its own.

A rule of the part ``order`` becomes ``order/…``. The rules of any JSON value are the same for all schemas: equal ones
stay one rule, so that they are lowered once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, Final, NamedTuple, TypeVar

from stackmask.grammar.ir import Expr, Rule, RuleRef, RuleSet, Scope, SourceText
from stackmask.grammar.ir.build import Renaming, choice, referred, repeat, sequence
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError, StackmaskError
from stackmask.grammar.source.work import enter, spend

START: Final = "root"
SEPARATOR: Final = "/"  # of a part and its rules
MAX_PLACED: Final = 20_000  # rules that are remembered under their namespaces; then all are forgotten
_SHARED: Final = "json"  # rules of any JSON value are named so, or begin so with a dot

Part = TypeVar("Part")


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
        self._restricts = self._depends = False  # whether some part has restrictions; reads the state or keys

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
        offset = len(self.sources)
        self.sources += part.sources
        own = prefix + SEPARATOR  # mutant: own-name
        found = _placed_parts.recall(part, own, offset)
        if found is None or not self._shares or not self._has_all(found.shared):
            found = _placed(part, own, self._find_shared(part), offset)
        for old in found.shared:
            self.rules[old] = self._shared[old]
        self.rules.update(found.rules)
        self._restricts = self._restricts or found.restricts
        self._depends = self._depends or found.depends
        self._owned.append(found.start)
        self._join_state(part, prefix, found.keeps_state)
        self._parts[name, id(part)] = (part, found.meaning)
        return found.meaning

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
        rules = RuleSet(self.rules, START, self.initial, tuple(self.sources))
        return Merged(rules, not needs_passes and not (self._restricts and self._depends))

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
            for name in referred(self.rules[todo.pop()].body):
                if name not in used:
                    used.add(name)
                    if name in self._defined:
                        todo.append(name)
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

    def _has_all(self, rules: Mapping[str, Rule]) -> bool:
        """Tell whether these rules of any JSON value are those that the parts before had, if they had such."""
        shared = self._shared
        for name, rule in rules.items():
            if shared.get(name, rule).body is not rule.body:
                return False
        for name, rule in rules.items():
            shared.setdefault(name, rule)
        return True

    def _find_shared(self, part: RuleSet) -> dict[str, Rule]:
        """Return the rules of any JSON value that this part has as the parts before it had them."""
        if not self._shares:
            return {}
        # a dict, so that the order is that of the rules
        found = {
            name: rule
            for name, rule in part.rules.items()
            if name.startswith(_SHARED)
            and (name == _SHARED or name.startswith(_SHARED + "."))
            and name != part.start
            and (name not in self._shared or self._shared[name].body == rule.body)
        }
        changed = bool(found)
        while changed:
            spend(4 * len(found))
            closed = {name: rule for name, rule in found.items() if found.keys() >= set(referred(rule.body))}
            changed = len(closed) < len(found)
            found = closed
        for name, rule in found.items():
            self._shared.setdefault(name, rule)
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
    shared: dict[str, Rule]  # those of any JSON value, which keep their names
    start: str
    meaning: Expr  # the same object whenever the part is put there, so that what is known of it stays known
    restricts: bool
    depends: bool
    keeps_state: bool


class PlacedParts:
    """The parts that were put under namespaces before, as many as ``MAX_PLACED`` allows. Safe to share between threads.

    Keys hold the addresses of parts, which live as long.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._parts: dict[tuple[int, str, frozenset[str], int], Placed] = {}
        self._whole: dict[tuple[int, str, int], Placed] = {}  # those that share all rules of any JSON value
        self._rules = 0

    def recall(self, part: RuleSet, own: str, offset: int) -> Placed | None:
        """Return what was made of a part, if that shares all rules that it can."""
        found = self._whole.get((id(part), own, offset))
        if found is not None:
            spend(1 + len(found.rules))
        return found

    def get(self, key: tuple[int, str, frozenset[str], int]) -> Placed | None:
        """Return what was made of a part that shares some rules, if it is still known."""
        return self._parts.get(key)

    def put(self, key: tuple[int, str, frozenset[str], int], placed: Placed) -> None:
        """Remember a part, unless it has too many rules of its own."""
        rules = placed.part.rules
        size = 1 + len(rules)
        if size > MAX_PLACED // 4:
            return
        with self._lock:
            if self._rules + size > MAX_PLACED:
                self._parts = {}
                self._whole = {}
                self._rules = 0
            if key not in self._parts:
                self._parts[key] = placed
                self._rules += size
                address, own, shared, offset = key
                if all(name in shared or not name.startswith(_SHARED) for name in rules):
                    self._whole[address, own, offset] = placed


_placed_parts = PlacedParts()


def _placed(part: RuleSet, own: str, shared: dict[str, Rule], offset: int) -> Placed:
    """Return the rules of a part under names that begin with ``own``, the same objects for the same part."""
    key = (id(part), own, frozenset(shared), offset)
    known = _placed_parts.get(key)
    if known is not None:
        spend(1 + len(known.rules))
        return known
    renaming = Renaming({old: old if old in shared else own + old for old in part.rules})
    rules = {}
    for old, rule in part.rules.items():
        body = renaming.renamed(rule.body)
        if old in shared:
            continue
        span = rule.span
        if span is not None and offset:
            span = replace(span, source=span.source + offset)
        rules[own + old] = Rule(own + old, body, span)
    spend(renaming.count)
    start = part.start if part.start in shared else own + part.start
    meaning: Expr = Scope(RuleRef(start)) if renaming.keeps_state else RuleRef(start)
    found = Placed(
        part, rules, shared, start, meaning, renaming.restricts, renaming.depends, renaming.keeps_state
    )
    _placed_parts.put(key, found)
    return found


def checked_parts(
    parts: tuple[Part, ...], named: dict[str, Part], kind: type[Part]
) -> list[tuple[str, Part]]:
    """Return parts with their names, if they have some. Raises: StackmaskError for none, or one of another kind."""
    found = [*(("", part) for part in parts), *named.items()]
    if not found:
        raise StackmaskError("at least one grammar is needed")
    for name, part in found:
        if not isinstance(part, kind):
            raise StackmaskError(f"{name or 'a part'} is a Grammar, not {type(part).__name__}")
    return found


def check_counts(low: Any, high: Any) -> None:
    """Check how often a part is repeated. Raises: StackmaskError for numbers that nothing meets."""
    counts_fit = high is None or (isinstance(high, int) and low <= high)
    if not isinstance(low, int) or low < 0 or not counts_fit:
        raise StackmaskError(f"a grammar is repeated m to n times, 0 <= m <= n, not {low!r} to {high!r}")


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
