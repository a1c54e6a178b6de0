"""Combine the rules of several grammars in one rule set, each in a separate namespace.

A rule of the part ``order`` becomes ``order/…``. The rules of an arbitrary JSON value are the same for all
schemas, and shared, so that they are lowered once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from collections.abc import Sequence as Items
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from stackmask.grammar import ir
from stackmask.grammar.ir.build import choice, referred, repeat, rewrite, sequence
from stackmask.grammar.ir.parts import PartedRules, PartFacts
from stackmask.grammar.normalize.graph import facts
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError, StackmaskError
from stackmask.grammar.source.work import enter, spend

START: Final = "root"
SEPARATOR: Final = "/"  # of a part and its rules
_SHARED: Final = "json"  # rules of any JSON value are named so, or begin so with a dot

Part = TypeVar("Part")


class Merged(NamedTuple):
    """The rules of a composition, and whether they are in normal form."""

    rules: ir.RuleSet
    is_ready: bool


class Merger:
    """Collects parts, which are rule sets in normal form; ``finish`` returns the result."""

    def __init__(self, taken: Iterable[str] = (), sources: Iterable[ir.SourceText] = ()) -> None:
        """Start without parts. ``taken``: names of existing rules; ``sources``: theirs."""
        self.sources: list[ir.SourceText] = list(sources)
        self.initial: Hashable = ()
        self._own: dict[str, ir.Rule] = {START: ir.Rule(START, sequence(()))}
        self._parts: dict[str, PartFacts] = {}  # by the names of their start rules
        self._places: list[str | Place] = []  # names of own rules, and parts, in order
        self._shares = not any(name == _SHARED or name.startswith(_SHARED + ".") for name in taken)
        self._owner = ""  # of the initial state
        self._stateful = ""  # a part that reads or writes it, and begins with the empty one
        self._known: dict[tuple[str, PartFacts], Place] = {}
        self._names: set[str] = set()
        self._restricts = self._depends = False  # whether some part has restrictions; reads the state or keys

    def add(self, part: ir.RuleSet, name: str = "") -> ir.Expr:
        """Add a part and return its expression; the same part is added once.

        ``name``: the name for its rules and diagnostics.
        Raises: GrammarError (G120) if its semantic state conflicts with that of another part.
        """
        return self.place(part, name).meaning

    def place(self, part: ir.RuleSet, name: str = "") -> Place:
        """Add a part and return its position. Raises: as ``add``."""
        facts = part_facts(part)
        known = self._known.get((name, facts))
        if known is not None:
            return known
        enter("putting grammars together")
        prefix = self._fresh(name)
        self._join_state(part, prefix, facts.keeps_state)
        own = prefix + SEPARATOR  # mutant: own-name
        start = own + part.start
        is_alone = not part.sources and part.initial == () and not facts.keeps_state
        found = Place(facts, name, prefix, own, start, facts.meaning(start), len(self.sources), is_alone)
        self.sources += part.sources
        self._put(found)
        return found

    def add_again(self, place: Place) -> bool:
        """Add a part at its position in another composition if nothing conflicts; return whether this succeeded."""
        if not place.is_alone or place.prefix in self._names:
            return False
        self._names.add(place.prefix)
        self._put(place)
        return True

    def _put(self, place: Place) -> None:
        facts = place.facts
        spend(1 + len(facts.rules))
        self._known[place.name, facts] = place
        self._parts[place.start] = facts
        self._places.append(place)
        self._restricts = self._restricts or facts.restricts
        self._depends = self._depends or facts.depends

    def define(self, name: str, body: ir.Expr) -> ir.Expr:
        """Add a rule of the whole, under this name or a similar one, and return a reference to it."""
        full = self._fresh(name)
        self._own[full] = ir.Rule(full, body)
        self._places.append(full)
        return ir.RuleRef(full)

    def finish(self, body: ir.Expr, needs_passes: bool = False) -> Merged:
        """Return the rules, with this expression as the start rule.

        ``needs_passes``: whether a rule of the composition may be empty, or is otherwise not in normal form.
        """
        self._own[START] = ir.Rule(START, body)
        used = self._used()
        if not used.issuperset(self._parts) or not used.issuperset(self._own):
            needs_passes = True  # there are rules that nothing reaches
        rules = ir.RuleSet(self._rules(), START, self.initial, tuple(self.sources))
        return Merged(rules, not needs_passes and not (self._restricts and self._depends))

    def hold(self, rules: ir.RuleSet, name: str, keeps_state: bool) -> None:
        """Adopt the semantic state of rules that parts are inserted into."""
        self._join_state(rules, name, keeps_state)

    def parts(self) -> dict[str, ir.Rule]:
        """Return the rules of all parts, without a start rule of the whole."""
        return {name: rule for name, rule in self._rules().items() if name != START}

    def _rules(self) -> PartedRules:
        return PartedRules(self._own, self._parts, partial(_written, self._own, self._places, self._shares))

    def _used(self) -> set[str]:
        """Return the composition's rules, and the start rules of parts, that the start rule reaches."""
        used = {START}
        todo = [START]
        while todo:
            for name in referred(self._own[todo.pop()].body):
                if name not in used:
                    used.add(name)
                    if name in self._own:
                        todo.append(name)
        spend(len(used))
        return used

    def _fresh(self, name: str) -> str:
        """Return an unused name for a part, or for a rule of the composition."""
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

    def _join_state(self, part: ir.RuleSet, name: str, keeps_state: bool) -> None:
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
                f"`{one}` and `{other}` both have a semantic state, and their initial states differ",
                help="use only one of them in a grammar; whitespace by pattern or number keeps no state, indentation does",
            )
        ]
    )


class Place(NamedTuple):
    """The place of a part in a composition.

    ``name``: the requested name. ``prefix``: the actual name; ``own``: the prefix of the part's names;
    ``start``: the part's start rule. ``offset``: the number of source texts before those of the part.
    ``is_alone``: whether the part has neither source texts nor a semantic state, and so is independent.
    """

    facts: PartFacts
    name: str
    prefix: str
    own: str
    start: str
    meaning: ir.Expr
    offset: int
    is_alone: bool


def part_facts(part: ir.RuleSet) -> PartFacts:
    """Return the facts about rules as a part of others."""
    found: PartFacts | None = part.as_part
    if found is None:
        found = PartFacts(part.rules, part.start)
        object.__setattr__(part, "as_part", found)
    return found


def _written(own: dict[str, ir.Rule], places: list[str | Place], shares: bool) -> dict[str, ir.Rule]:
    """Return the rules of a whole and of its parts, each part in its namespace.

    ``shares``: rules of an arbitrary JSON value keep their names if parts have the same rules.
    """
    shared: dict[str, ir.Rule] = {}
    made = {START: own[START]}
    for place in places:
        if isinstance(place, str):
            made[place] = own[place]
            continue
        same = _find_shared(place, shared) if shares else {}
        for name in same:
            made[name] = shared[name]
        rules = place.facts.rules
        leaf = partial(_renamed, {name: place.own + name for name in rules if name not in same})
        for name, rule in rules.items():
            if name in same:
                continue
            spend(facts(rule.body).size)
            span = rule.span
            if span is not None and place.offset:
                span = replace(span, source=span.source + place.offset)
            made[place.own + name] = ir.Rule(place.own + name, rewrite(rule.body, leaf), span)
    return made


def _renamed(names: dict[str, str], expr: ir.Expr) -> ir.Expr:
    if isinstance(expr, ir.RuleRef) and expr.name in names:
        return ir.RuleRef(names[expr.name], expr.nonempty)
    return expr


def _find_shared(place: Place, shared: dict[str, ir.Rule]) -> dict[str, ir.Rule]:
    """Return the part's rules of an arbitrary JSON value that equal those of earlier parts, and record new ones."""
    # a dict, so that the order is that of the rules
    found = {
        name: rule
        for name, rule in place.facts.rules.items()
        if name.startswith(_SHARED)
        and (name == _SHARED or name.startswith(_SHARED + "."))
        and name != place.facts.start
        and (name not in shared or shared[name].body == rule.body)
    }
    changed = bool(found)
    while changed:
        spend(4 * len(found))
        closed = {name: rule for name, rule in found.items() if found.keys() >= set(referred(rule.body))}
        changed = len(closed) < len(found)
        found = closed
    for name, rule in found.items():
        shared.setdefault(name, rule)
    return found


def checked_parts(
    parts: tuple[Part, ...], named: dict[str, Part], kind: type[Part]
) -> list[tuple[str, Part]]:
    """Return parts with their names, if any. Raises: StackmaskError for missing or unsuitable parts."""
    found = [*(("", part) for part in parts), *named.items()]
    if not found:
        raise StackmaskError("at least one grammar is needed")
    for name, part in found:
        if not isinstance(part, kind):
            raise StackmaskError(f"{name or 'a part'} is a Grammar, not {type(part).__name__}")
    return found


def check_counts(low: Any, high: Any) -> None:
    """Check the bounds of a repetition. Raises: StackmaskError for contradictory numbers."""
    counts_fit = high is None or (isinstance(high, int) and low <= high)
    if not isinstance(low, int) or low < 0 or not counts_fit:
        raise StackmaskError(f"a grammar is repeated m to n times, 0 <= m <= n, not {low!r} to {high!r}")


def named(name: str, read: Callable[[], ir.RuleSet]) -> ir.RuleSet:
    """Return the result of ``read``; its diagnostics name the part. Raises: GrammarError."""
    try:
        return read()
    except GrammarError as error:
        if not name:
            raise
        problems = [replace(found, message=f"in `{name}`: {found.message}") for found in error.diagnostics]
        raise GrammarError(problems, error.sources) from None


def union(parts: list[tuple[str, ir.RuleSet]]) -> Merged:
    """Return the rules of the union of the parts."""
    merger = Merger()
    return merger.finish(choice([merger.add(part, name) for name, part in parts]))


def concat(parts: list[tuple[str, ir.RuleSet]]) -> Merged:
    """Return the rules of the concatenation of the parts."""
    merger = Merger()
    return merger.finish(sequence([merger.add(part, name) for name, part in parts]))


def repeated(part: ir.RuleSet, low: int, high: int | None) -> Merged:
    """Return the rules of ``low`` to ``high`` strings of the part in a row."""
    merger = Merger()
    return merger.finish(repeat(merger.add(part), low, high))


# -- What depends on the special tokens of a vocabulary, made once for each ------------------------------

Made = TypeVar("Made")
MAX_VOCABULARIES: Final = 16  # for which it is remembered


class ByNames(Generic[Made]):
    """A cache of objects for vocabularies, by the names of their special tokens."""

    def __init__(self, make: Callable[[frozenset[str]], Made]) -> None:
        self._make = make
        self._known: dict[frozenset[str], Made] = {}

    def of(self, names: frozenset[str], run: Callable[[Callable[[], Made]], Made]) -> Made:
        """Return the object for these names. ``run`` calls its constructor. Raises: as the constructor."""
        found = self._known.get(names)
        if found is None:
            found = run(lambda: self._make(names))
            if len(self._known) >= MAX_VOCABULARIES:
                self._known.clear()
            self._known[names] = found
        return found


# -- Markers: strings of a format that a vocabulary may have as special tokens, which are never text -----

_KNOWN_VOCABULARIES: Final = 64


class Markers:
    """The special tokens of a vocabulary by name; none if the vocabulary is unknown."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = frozenset(names)
        self._pattern = _pattern(self.names)

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """Return pieces of the text, and whether each is a special token. The leftmost, longest name wins."""
        spend(1 + len(text) // 16)
        if self._pattern is None or not text:
            return [(text, False)] if text else []
        found = []
        at = 0
        for match in self._pattern.finditer(text):
            if match.start() > at:
                found.append((text[at : match.start()], False))
            found.append((match[0], True))
            at = match.end()
        if at < len(text):
            found.append((text[at:], False))
        return found

    def holds(self, text: str) -> bool:
        """Return whether the text contains a special token, so that ordinary text never contains it."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def expr(self, text: str) -> ir.Expr:
        """Return the expression for the text: special tokens as tokens, the rest as text."""
        return sequence(
            [
                ir.TokenTerminal((piece,), (), False) if special else ir.Literal(piece.encode())
                for piece, special in self.pieces(text)
            ]
        )

    def begin_with(self, text: str, trigger: str) -> int:
        """Return how many characters of the text the trigger covers, without splitting special tokens."""
        end = 0
        for piece, _special in self.pieces(text):
            if _special:
                end += len(piece)
            else:
                end = min(end + len(piece), max(end, len(trigger)))
            if end >= len(trigger):
                break
        return end


@lru_cache(_KNOWN_VOCABULARIES)
def _pattern(names: frozenset[str]) -> re.Pattern[str] | None:
    words = sorted((name for name in names if name), key=lambda name: (-len(name), name))
    return re.compile("|".join(map(re.escape, words))) if words else None


# -- Text that may hold anything but some strings, alone or up to the first of them. ---------------------
#
# A text is a complement in the algebra of regular languages: its places are the states of the automaton that looks for
# the strings, so that nearly all of it has one mask.

SOME_TEXT: Final = ir.Repeat(ir.ANY_CHAR, 1, None)


def any_of(words: Items[str]) -> ir.Expr:
    """Return the choice of these words."""
    return choice([ir.Literal(word.encode()) for word in words])


def text(excludes: Items[str] = (), max_chars: int | None = None) -> ir.Expr:
    """Return text of at most ``max_chars`` characters that contains none of the strings."""
    spend(sum(map(len, excludes)))
    if not excludes:
        return ir.ANY_TEXT if max_chars is None else ir.Repeat(ir.ANY_CHAR, 0, max_chars)
    without = ir.Complement(ir.Sequence((ir.ANY_TEXT, any_of(excludes), ir.ANY_TEXT)))
    if max_chars is None:
        return without
    return ir.Intersection((ir.Repeat(ir.ANY_CHAR, 0, max_chars), without))


def text_until(
    ends: Items[str], excludes: Items[str] = (), max_chars: int | None = None, *, first: Items[str] = ()
) -> ir.Expr:
    """Return text up to the first of the ends, including that end.

    ``excludes``: strings that the text before it must not contain. ``first``: other strings that must not
    occur, such as other ends.
    """
    marks = [*ends, *first]
    if not any_overlap(marks):
        # the text cannot hold the beginning of an end that the end itself completes
        return sequence((text([*excludes, *marks], max_chars), any_of(ends)))
    written = ir.Sequence((text(excludes, max_chars), any_of(ends)))
    too_late = ir.Sequence((ir.ANY_TEXT, any_of(marks), SOME_TEXT))
    conditions: list[ir.Expr] = [written, ir.Complement(too_late)]
    others = [mark for mark in first if mark not in ends]
    if others:
        conditions.append(ir.Complement(ir.Sequence((ir.ANY_TEXT, any_of(others)))))
    return ir.Intersection(tuple(conditions))


def counted_until(
    ends: Items[str], excludes: Items[str], max_chars: int | None, max_tokens: int, *, first: Items[str] = ()
) -> ir.Expr:
    """Return text of at most ``max_tokens`` tokens up to one of the ends, including that end; only text without ends.

    The strings are those of ``text_until``, but the text before an end is a separate expression. ``first``:
    ends in another notation, which must not occur in the text either. Cost: quadratic in the longest end.
    """
    if not ends:
        return counted(text([*excludes, *first], max_chars), max_tokens, max_chars)
    before = text([*excludes, *ends, *first], max_chars)
    if not any_overlap(ends):
        return sequence((counted(before, max_tokens, max_chars), any_of(ends)))
    options = []
    for end in ends:
        if any(mark in end[:-1] for mark in ends):
            continue  # another end is complete before this one
        # an end is complete too early if it begins in the text and ends in this one
        early = {
            mark[:size]
            for mark in ends
            for size in range(1, len(mark))
            if len(mark) - size < len(end) and end.startswith(mark[size:])
        }
        spend(sum(map(len, ends)) + sum(map(len, early)))
        here = before
        if early:
            here = ir.Intersection((before, ir.Complement(ir.Sequence((ir.ANY_TEXT, any_of(sorted(early)))))))
        options.append(sequence((counted(here, max_tokens, max_chars), ir.Literal(end.encode()))))
    return choice(options)


def counted(before: ir.Expr, max_tokens: int, max_chars: int | None = None) -> ir.Expr:
    """Return possibly empty text of at most the given number of tokens."""
    if max_tokens == 0 or max_chars == 0:
        return ir.EPSILON
    some = SOME_TEXT if max_chars is None else ir.Repeat(ir.ANY_CHAR, 1, max_chars)
    body = some if isinstance(before, ir.Repeat) else ir.Intersection((some, before))
    return ir.Repeat(ir.Capture(body, ir.TokenLimit(max_tokens)), 0, 1)


def any_overlap(marks: Items[str]) -> bool:
    """Return whether occurrences of these strings can overlap, including two occurrences of the same string.

    Each string is read by the automaton for all of them (Aho and Corasick, 1975).
    Cost: linear in the characters.
    """
    spend(4 * sum(map(len, marks)))
    children: list[dict[str, int]] = [{}]
    is_end = [False]
    ends = []
    for mark in marks:
        node = 0
        for char in mark:
            found = children[node].get(char)
            if found is None:
                found = children[node][char] = len(children)
                children.append({})
                is_end.append(False)
            node = found
        is_end[node] = True
        ends.append(node)
    suffixes = [0] * len(children)  # the longest proper suffix that is a prefix of a string
    order = [0]
    for node in order:
        for char, child in children[node].items():
            order.append(child)
            suffix = suffixes[node]
            while node and char not in children[suffix] and suffix:
                suffix = suffixes[suffix]
            if node:
                suffixes[child] = children[suffix].get(char, 0)
            # a string that stands inside of another one, or begins it
            if is_end[suffixes[child]] or (is_end[child] and children[child]):
                return True
    return any(suffixes[end] for end in ends)
