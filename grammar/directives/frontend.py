"""The entrance: a grammar in the EBNF dialect, with the parts of other languages that are in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

from stackmask.grammar.compose.markers import Markers
from stackmask.grammar.compose.merge import Merger, named
from stackmask.grammar.directives.dispatch import KINDS, FreeText, substring_rules
from stackmask.grammar.directives.json_places import path_of, place_of
from stackmask.grammar.ebnf.modules import load_rules, load_with_parts
from stackmask.grammar.ir import Capture, Dynamic, Expr, Rule, RuleRef, RuleSet, Span, TokenLimit, walk
from stackmask.grammar.ir.build import rewrite
from stackmask.grammar.json_schema.document.errors import SchemaError
from stackmask.grammar.json_schema.frontend import schema_rules
from stackmask.grammar.normalize import normalize
from stackmask.grammar.notation.loading import Loaded
from stackmask.grammar.notation.tree import Part
from stackmask.grammar.ready import find_ready
from stackmask.grammar.source.diagnostics import Diagnostic, GrammarError
from stackmask.grammar.source.files import bundled_path, read_text
from stackmask.grammar.source.options import ArgumentError
from stackmask.grammar.source.work import spend

SQL: Final = "sql"  # the bundled grammar, and the name under which another one takes its place
Given = Mapping[str, Callable[[frozenset[str]], RuleSet]]
"""Grammars by name: each makes its rules in normal form, given the special tokens of a vocabulary."""


NAME: Final = re.compile(r"-*[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-]))*")  # of a rule
Part_ = TypeVar("Part_")


def given_parts(grammars: Any, kind: type[Part_]) -> dict[str, Part_]:
    """Return grammars by name. Raises: ArgumentError for names that no rule could have, and values of another kind."""
    if grammars is None:
        return {}
    if not isinstance(grammars, Mapping):
        raise ArgumentError(f"`grammars` is a dict of Grammars by name, not {type(grammars).__name__}")
    for name, part in grammars.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ArgumentError(f"`grammars`: {name!r:.60} is no name of a rule")
        if not isinstance(part, kind):
            raise ArgumentError(f"`grammars`: `{name}` is a Grammar, not {type(part).__name__}")
    return dict(grammars)


def rules_of(parts: Mapping[str, Any]) -> Given:
    """Return how the rules of Grammars given by name are made."""

    def rules(part: Any, names: frozenset[str]) -> RuleSet:
        made: RuleSet = (part.for_vocabulary(names) if names else part).normalize()
        return made

    return {name: partial(rules, part) for name, part in parts.items()}


class Directives:
    """A grammar text that was read; ``rules`` puts its parts in, for each vocabulary anew."""

    def __init__(
        self, text: str, *, name: str, base: Path | None, start: str | None, given: Given | None = None
    ) -> None:
        """Read a text. Raises: GrammarError with the problems of all files at once."""
        known = given or {}
        self._take(load_with_parts(text, name=name, base=base, start=start, given=known), known)

    @classmethod
    def of(cls, loaded: Loaded, given: Given | None = None) -> Directives:
        """Return what another reader has loaded, to put its parts in."""
        made = cls.__new__(cls)
        made._take(loaded, given or {})
        return made

    def _take(self, loaded: Loaded, given: Given) -> None:
        self.loaded, self.given = loaded, given
        self._schemas: dict[str, RuleSet] = {}

    @property
    def has_markers(self) -> bool:
        """Whether a part says what a vocabulary may have as a special token."""
        parts = self.loaded.parts.values()
        return any(part.kind == "marker" or part.kind in KINDS for part in parts)  # mutant: marker-part

    def rules(self, special_names: Iterable[str] = ()) -> RuleSet:
        """Return the rules of the text and its parts; the parts have namespaces of their own.

        ``special_names``: of the vocabulary, where it is known.
        Raises: GrammarError with the place of the part; SchemaError for a grammar given by name.
        """
        rules, parts = self.loaded
        if not parts:
            return rules
        names = frozenset(special_names)
        markers = Markers(names)
        merger = Merger(taken=rules.rules, sources=rules.sources)
        merger.hold(rules, "the grammar", _keeps_state(rules))
        meanings: dict[str, Expr] = {}
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

        def leaf(expr: Expr) -> Expr:
            return meanings.get(expr.name, expr) if isinstance(expr, RuleRef) else expr

        made = {old: Rule(old, rewrite(rule.body, leaf), rule.span) for old, rule in rules.rules.items()}
        return RuleSet({**made, **merger.parts()}, rules.start, merger.initial, tuple(merger.sources))

    def _part(self, key: str, part: Part, names: frozenset[str]) -> RuleSet:
        if part.kind == "grammar":
            return named(part.text, lambda: self.given[part.text](names))
        if part.kind == "substring":
            return normalize(substring_rules(part.dispatch.triggers if part.dispatch else ()))
        if part.kind == SQL:
            given = self.given.get(SQL)
            return _bundled_sql() if given is None else named(SQL, lambda: given(names))
        found = self._schemas.get(key)
        if found is None:
            found = self._schemas[key] = schema_rules(part.text)[0]
        return found


def ebnf_rules(
    text: str,
    special_names: Iterable[str] = (),
    *,
    name: str,
    base: Path | None = None,
    start: str | None = None,
) -> RuleSet:
    """Return the rules of a grammar text with its parts. Raises: as ``Directives``."""
    return Directives(text, name=name, base=base, start=start).rules(special_names)


def _schema_problem(error: SchemaError, part: Part) -> Diagnostic:
    """Return what is wrong with a schema, with its place in the grammar's text."""
    message = f"in `%json`: {error}"
    path = path_of(error.pointer, error.keyword)
    if path is None:
        return Diagnostic("G020", message, part.span, "the schema behind this")
    start, end = place_of(part.text, path)
    span = Span(part.start + start, part.start + end, part.span.source)
    return Diagnostic("G020", message, span, "here")


def _name_of(part: Part) -> str:
    return part.text if part.kind == "grammar" else part.kind


def _used(rules: RuleSet, parts: Mapping[str, Part]) -> list[str]:
    """Return the parts that rules refer to, in the order of their places."""
    found: dict[str, None] = {}
    for rule in rules.rules.values():
        for node in walk(rule.body):
            spend(1)
            if isinstance(node, RuleRef) and node.name in parts:
                found[node.name] = None
    return list(found)


def _keeps_state(rules: RuleSet) -> bool:
    return any(
        isinstance(node, Dynamic) or (isinstance(node, Capture) and not isinstance(node.action, TokenLimit))
        for rule in rules.rules.values()
        for node in walk(rule.body)
    )


@lru_cache(1)
def _bundled_sql() -> RuleSet:
    path = bundled_path(SQL)
    assert path is not None
    shown = f"stackmask/grammars/{path.name}"
    ready = find_ready(path, shown)
    if ready is not None:
        return ready.normalized()
    return normalize(load_rules(read_text(path), name=shown, base=path.parent, start=None))
