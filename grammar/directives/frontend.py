"""The entry point for a grammar in the EBNF dialect, with embedded parts in other languages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

from stackmask.grammar import ir
from stackmask.grammar.ebnf.modules import load_rules
from stackmask.grammar.ir.build import choice, rewrite, sequence
from stackmask.grammar.json_schema.document.errors import SchemaError, Where
from stackmask.grammar.json_schema.frontend import schema_rules
from stackmask.grammar.normalize import normalize
from stackmask.grammar.notation.loading import Loaded
from stackmask.grammar.notation.tree import Dispatch, Part
from stackmask.grammar.ready import find_ready
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.files import bundled_path, read_text
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.work import spend
from stackmask.grammar.turns.parts.merge import Markers, Merger, any_of, any_overlap, named, text

SQL: Final = "sql"  # the bundled grammar, and the name under which another one takes its place
Given = Mapping[str, Callable[[frozenset[str]], ir.RuleSet]]
"""Grammars by name: each makes its rules in normal form, given the special tokens of a vocabulary."""


NAME: Final = re.compile(r"-*[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-]))*")  # of a rule
Part_ = TypeVar("Part_")


def given_parts(grammars: Any, kind: type[Part_]) -> dict[str, Part_]:
    """Return grammars by name. Raises: ArgumentError for names that are invalid for rules, and for other values."""
    if grammars is None:
        return {}
    if not isinstance(grammars, Mapping):
        raise ArgumentError(f"`grammars` is a dict of Grammars by name, not {type(grammars).__name__}")
    for name, part in grammars.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ArgumentError(f"`grammars`: {name!r:.60} is not the name of a rule")
        if not isinstance(part, kind):
            raise ArgumentError(f"`grammars`: `{name}` is a Grammar, not {type(part).__name__}")
    return dict(grammars)


def rules_of(parts: Mapping[str, Any]) -> Given:
    """Return functions that compute the rules of named grammars."""

    def rules(part: Any, names: frozenset[str]) -> ir.RuleSet:
        made: ir.RuleSet = (part.for_vocabulary(names) if names else part).normalize()
        return made

    return {name: partial(rules, part) for name, part in parts.items()}


class Directives:
    """A parsed grammar text, into which ``rules`` inserts the parts for each vocabulary."""

    def __init__(self, loaded: Loaded, given: Given | None = None) -> None:
        """Take the rules of a reader. ``given``: the grammars that it was given by name."""
        self.loaded, self.given = loaded, given or {}
        self._schemas: dict[str, ir.RuleSet] = {}

    @property
    def has_markers(self) -> bool:
        """Whether a part depends on the special tokens of the vocabulary."""
        parts = self.loaded.parts.values()
        return any(part.kind == "marker" or part.kind in KINDS for part in parts)  # mutant: marker-part

    def rules(self, special_names: Iterable[str] = ()) -> ir.RuleSet:
        """Return the rules of the text and its parts; the parts have separate namespaces.

        ``special_names``: names in the vocabulary, if known.
        Raises: GrammarError with the place of the part; SchemaError for a grammar given by name.
        """
        rules, parts = self.loaded
        if not parts:
            return rules
        names = frozenset(special_names)
        markers = Markers(names)
        merger = Merger(taken=rules.rules, sources=rules.sources)
        merger.hold(rules, "the grammar", _keeps_state(rules))
        meanings: dict[str, ir.Expr] = {}
        texts: dict[tuple[int, int], FreeText] = {}  # by the places of their macros
        problems: list[Diagnostic] = []
        for key in _used(rules, parts):
            part = parts[key]
            try:
                if part.kind == "marker":
                    meanings[key] = markers.expr(part.text)
                elif part.dispatch is not None and part.kind in KINDS:
                    place = part.span.source, part.span.start
                    if place not in texts:
                        texts[place] = FreeText(part.dispatch, markers)
                    meanings[key] = texts[place].part(part)
                else:
                    meanings[key] = merger.add(self._part(key, part, names), _name_of(part))
            except SchemaError as error:
                if part.kind == "grammar":
                    raise
                problems.append(_schema_problem(error, part))
        if problems:
            raise GrammarError(problems, rules.sources)

        def leaf(expr: ir.Expr) -> ir.Expr:
            return meanings.get(expr.name, expr) if isinstance(expr, ir.RuleRef) else expr

        made = {old: ir.Rule(old, rewrite(rule.body, leaf), rule.span) for old, rule in rules.rules.items()}
        return ir.RuleSet({**made, **merger.parts()}, rules.start, merger.initial, tuple(merger.sources))

    def _part(self, key: str, part: Part, names: frozenset[str]) -> ir.RuleSet:
        if part.kind == "grammar":
            return named(part.text, lambda: self.given[part.text](names))
        if part.kind == "substring":
            return normalize(substring_rules(part.dispatch.triggers if part.dispatch else ()))
        if part.kind == SQL:
            given = self.given.get(SQL)
            return _bundled_sql() if given is None else named(SQL, lambda: given(names))
        found = self._schemas.get(key)
        if found is None:
            found = self._schemas[key] = schema_rules(part.text, numbers=part.numbers)[0]
        return found


def _schema_problem(error: SchemaError, part: Part) -> Diagnostic:
    """Return the problem of a schema, with its position in the grammar's text."""
    message = f"in `%json`: {error}"
    path = path_of(error.where, error.keyword)
    if path is None:
        return Diagnostic("G020", message, part.span, "the schema for this")
    start, end = place_of(part.text, path)
    span = ir.Span(part.start + start, part.start + end, part.span.source)
    return Diagnostic("G020", message, span, "here")


def _name_of(part: Part) -> str:
    return part.text if part.kind == "grammar" else part.kind


def _used(rules: ir.RuleSet, parts: Mapping[str, Part]) -> list[str]:
    """Return the parts that rules refer to, in the order of their positions."""
    found: dict[str, None] = {}
    for rule in rules.rules.values():
        for node in ir.walk(rule.body):
            spend(1)
            if isinstance(node, ir.RuleRef) and node.name in parts:
                found[node.name] = None
    return list(found)


def _keeps_state(rules: ir.RuleSet) -> bool:
    return any(
        isinstance(node, ir.Dynamic)
        or (isinstance(node, ir.Capture) and not isinstance(node.action, ir.TokenLimit))
        for rule in rules.rules.values()
        for node in ir.walk(rule.body)
    )


@lru_cache(1)
def _bundled_sql() -> ir.RuleSet:
    path = bundled_path(SQL)
    assert path is not None
    shown = f"stackmask/grammars/{path.name}"
    ready = find_ready(path, shown)
    if ready is not None:
        return ready.normalized()
    return normalize(load_rules(read_text(path), name=shown, base=path.parent, start=None).rules)


# -- Where a part of a JSON value stands in its text: what is wrong with a schema is said there ------------


_TOKEN: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|[{}\[\],:]|[^\s{}\[\],:\"]+")


def path_of(where: Where, keyword: str) -> list[str] | None:
    """Return the names on the path to a keyword; None if the keyword is in another document."""
    names = [keyword] if keyword else []
    while not isinstance(where, str):
        where, token = where
        names.append(str(token))
    return None if where else names[::-1]


def place_of(text: str, path: list[str]) -> tuple[int, int]:
    """Return the position of the value at the end of a path, with its first token; by default, of the deepest
    existing part.

    ``text``: JSON. The last of several equal names counts, as in Python.
    Cost: linear.
    """
    best = (0, 1)
    reached = 0
    keys: list[
        str | int
    ] = []  # of the open objects and arrays: the name, or the number, of what is read there
    matching = 0  # how many of them are as the path says
    is_name = False
    for match in _TOKEN.finditer(text):
        spend(1)
        token = match[0]
        if token in "}]":
            keys.pop()
            matching = min(matching, len(keys))
        elif token == ",":
            last = keys[-1]
            matching = min(matching, len(keys) - 1)
            is_name = isinstance(last, str)
            if isinstance(last, int):
                keys[-1] = last + 1
                matching += matching == len(keys) - 1 and _is_next(keys, path)
        elif token == ":":
            is_name = False
        elif is_name:
            keys[-1] = json.loads(token)
            matching = min(matching, len(keys) - 1)
            matching += matching == len(keys) - 1 and _is_next(keys, path)
        else:
            if matching == len(keys) >= reached:
                reached = matching
                best = match.span()
            if token in "{[":
                is_name = token == "{"
                keys.append("" if is_name else 0)
                matching += not is_name and matching == len(keys) - 1 and _is_next(keys, path)
    return best


def _is_next(keys: list[str | int], path: list[str]) -> bool:
    depth = len(keys)
    return depth <= len(path) and str(keys[-1]) == path[depth - 1]


# -- What the parts of macros mean for a vocabulary: free text up to triggers, and runs of chunks ----------


KINDS: Final = frozenset({"text", "mark", "until", "last", "stop"})  # parts of free text with triggers
_MORE_TEXT: Final = ir.Repeat(ir.ANY_CHAR, 1, None)


class FreeText:
    """Free text with triggers, for one vocabulary; shared parts are created once.

    The first complete trigger counts, or the longest of several; a longer one may continue where a shorter
    one could end. An excluded string does not end the text, but never occurs in it.
    """

    def __init__(self, dispatch: Dispatch, markers: Markers) -> None:
        self.dispatch = dispatch
        self.markers = markers
        self.marks = self._plain([*dispatch.triggers, *dispatch.stops])
        self.excludes = self._plain([*dispatch.excludes])
        others = [*self.marks, *self.excludes]
        self.overlaps = any_overlap(others)
        self.before = text(others)
        self.too_late = (
            ir.Complement(ir.Sequence((ir.ANY_TEXT, any_of(others), _MORE_TEXT)))
            if self.overlaps
            else ir.EPSILON
        )

    def part(self, part: Part) -> ir.Expr:
        """Return a part.

        ``text`` is the text before a trigger, ``mark`` a trigger, ``until`` both together, ``last`` the text
        after the last trigger, and ``stop`` the end of this text.
        """
        dispatch = self.dispatch
        if part.kind == "mark":
            return self.markers.expr(dispatch.triggers[int(part.text)])
        if part.kind == "until":
            return self._until(dispatch.triggers[int(part.text)])
        if part.kind == "stop":
            stops = [self.markers.expr(stop) for stop in dispatch.stops]
            return choice([ir.EPSILON, *stops] if dispatch.may_end else stops)
        if part.kind == "text" or not dispatch.stops:
            return self.before
        stopped = [self._until(stop) for stop in dispatch.stops]
        return choice([self.before, *stopped] if dispatch.may_end else stopped)

    def _plain(self, words: list[str]) -> list[str]:
        """Return the words that are text, without duplicates."""
        spend(4 * len(words))
        return [word for word in dict.fromkeys(words) if not self.markers.holds(word)]

    def _until(self, mark: str) -> ir.Expr:
        """Return free text up to a trigger or stop, including it."""
        spend(10 + (len(self.marks) + len(self.excludes)) // 8)
        if self.markers.holds(mark):
            return sequence((self.before, self.markers.expr(mark)))
        # what goes on where a shorter one could end begins as that one does
        first = min((other for other in self.marks if mark.startswith(other)), key=len)
        ends = [ir.Literal(mark[len(first) :].encode())] if len(mark) > len(first) else []
        if not self.overlaps:
            return sequence((self.before, any_of((first,)), *ends))
        conditions: list[ir.Expr] = [ir.Sequence((ir.ANY_TEXT, any_of((first,)))), self.too_late]
        longer = [*self.excludes, *(mark for mark in self.marks if mark != first and mark.endswith(first))]
        if longer:
            conditions.append(ir.Complement(ir.Sequence((ir.ANY_TEXT, any_of(longer)))))
        return sequence((ir.Intersection(tuple(conditions)), *ends))


def substring_rules(chunks: tuple[str, ...]) -> ir.RuleSet:
    """Return the rules for any run of consecutive chunks, including the empty one.

    The rules are the suffix automaton of the chunks (Blumer et al., 1985), with one rule for each state, and
    at most two for each chunk.
    Cost: linear in the chunks.
    """
    following: list[dict[str, int]] = [{}]
    lengths = [0]
    suffixes = [-1]
    last = 0
    for chunk in chunks:
        if not chunk:
            continue
        spend(10 + len(chunk))
        state = len(following)
        following.append({})
        lengths.append(lengths[last] + 1)
        suffixes.append(0)
        at = last
        while at >= 0 and chunk not in following[at]:
            following[at][chunk] = state
            at = suffixes[at]
        if at >= 0:
            old = following[at][chunk]
            if lengths[old] == lengths[at] + 1:
                suffixes[state] = old
            else:
                copy = len(following)
                following.append(dict(following[old]))
                spend(len(following[old]))
                lengths.append(lengths[at] + 1)
                suffixes.append(suffixes[old])
                suffixes[old] = suffixes[state] = copy
                while at >= 0 and following[at].get(chunk) == old:
                    following[at][chunk] = copy
                    at = suffixes[at]
        last = state
    rules = {}
    for number, leads in enumerate(following):
        spend(2 + 4 * len(leads))
        name = str(number) if number else "root"
        options = [sequence((ir.Literal(chunk.encode()), ir.RuleRef(str(to)))) for chunk, to in leads.items()]
        rules[name] = ir.Rule(name, choice([ir.EPSILON, *options]))
    return ir.RuleSet(rules, "root", (), ())
