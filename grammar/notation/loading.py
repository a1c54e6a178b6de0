"""The files of a grammar: reading those that are imported, and refusing them with all that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.ir import Expr, Rule, RuleRef, RuleSet, SourceText, Span
from stackmask.grammar.ir.build import choice
from stackmask.grammar.notation.foreign import Foreign
from stackmask.grammar.notation.tree import Import, Module, Part
from stackmask.grammar.source.diagnostics import (
    Collector,
    Diagnostic,
    GrammarError,
    GrammarFileError,
    line_and_column,
)
from stackmask.grammar.source.files import read_text
from stackmask.grammar.source.similar import similar
from stackmask.grammar.source.work import check_text, spend

SKIP_RULE: Final = "%skip"
START_RULE: Final = "%start"
MAX_SUGGESTIONS: Final = 20  # looking for similar names compares with every name there is


class Loaded(NamedTuple):
    """Rules, and the parts in other languages, by the names of rules that are referred to in their place."""

    rules: RuleSet
    parts: dict[str, Part]


class SourceFiles:
    """The texts of a grammar, each parsed once, with their problems."""

    def __init__(self, parse: Callable[[str, int, Collector], Module], notation: str, method: str) -> None:
        self.texts: list[SourceText] = []
        self.problems: list[Collector] = []
        self._parse, self._notation, self._method = parse, notation, method
        self._known: dict[tuple[str, Path | None], tuple[Module, Collector]] = {}
        self._suggestions = 0

    def parsed(self, text: str, name: str, path: Path | None) -> tuple[Module, Collector]:
        """Parse a text, unless it was already."""
        known = self._known.get((name, path))
        if known is None:
            check_text(f"`{name}`", text)
            problems = self.add(name, text)
            known = self._known[name, path] = (self._parse(text, problems.source, problems), problems)
        return known

    def add(self, name: str, text: str) -> Collector:
        """Add a text, whose problems the collector takes."""
        self.texts.append(SourceText(name, text))
        self.problems.append(Collector(len(self.texts) - 1))
        return self.problems[-1]

    def read(self, path: Path, wanted: Import, problems: Collector) -> str | None:
        """Return the text of an imported file; None if it cannot be read, which is reported."""
        try:
            return read_text(path)
        except GrammarFileError as error:
            problems.at(wanted.span, "G013", str(error), "", "imported here")
            return None

    def folder(self, folder: Path | None, shown: str, wanted: Import, problems: Collector) -> Path | None:
        """Return the folder that an imported path is relative to; None if there is none, which is reported."""
        if folder is None:
            message = f"cannot import {shown}: this grammar is not in a file"
            help = f"load it with Grammar.from_file, or pass base= to {self._method}"
            problems.at(wanted.span, "G013", message, help, "relative to which folder?")
        return folder

    def suggest(self, name: str, names: Iterable[str]) -> str | None:
        """Return the name that is most like this one; only for the first few that are asked for."""
        self._suggestions += 1
        return similar(name, names) if self._suggestions <= MAX_SUGGESTIONS else None

    def line_of(self, span: Span) -> int:
        """Return the number of a line. The lines before it are counted, so this is work."""
        spend(span.start // 8)
        return line_and_column(self.texts[span.source].text, span.start)[0]

    def stop_on_problems(self, foreign: Callable[[str], Foreign | None] | None) -> None:
        """Refuse a grammar that has problems. ``foreign``: recognises a text of another notation by its look.

        Raises: GrammarError.
        """
        found: list[Diagnostic] = []
        for source, problems in zip(self.texts, self.problems, strict=True):
            other = foreign(source.text) if problems.found and foreign is not None else None
            if other is None:
                found += problems.found
            else:  # all else that is wrong with it comes of this
                span = Span(other.start, other.end, problems.source)
                message = f"this is {other.what}, not a grammar of {self._notation}"
                found.append(Diagnostic("G019", message, span, help=other.cure))
        if found:
            raise GrammarError(list(dict.fromkeys(found)), self.texts)


def skip_rule(
    name: str, skipped: Iterable[Expr], body_of: Callable[[str], Expr | None], span: Span | None = None
) -> Rule:
    """Return the rule of what may stand between terminals: any number of these, in whatever rules they are."""
    options: list[Expr] = []
    seen: set[str] = set()
    todo = list(skipped)[::-1]
    while todo:
        expr = todo.pop()
        spend(4)
        # (x+ | y)* is (x | y)*, with one way to read a text instead of many
        if isinstance(expr, ir.Repeat) and expr.min <= 1 and expr.max != 0:
            todo.append(expr.item)
        elif isinstance(expr, ir.Choice):
            todo.extend(reversed(expr.items))
        elif isinstance(expr, RuleRef) and (body := body_of(expr.name)) is not None:
            if expr.name not in seen:
                seen.add(expr.name)
                todo.append(body)
        elif expr != ir.EPSILON:  # mutant: skipped-nothing
            options.append(expr)
    return Rule(name, ir.Repeat(choice(options) if options else ir.NOTHING, 0, None), span)
