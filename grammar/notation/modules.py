"""The files of a grammar in either notation: their imports are followed, and all problems reported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.notation.loading import Foreign
from stackmask.grammar.notation.tree import CountedUse, Import, Module, Name, Part, Use
from stackmask.grammar.source.diagnostics import (
    Collector,
    Diagnostic,
    GrammarError,
    GrammarFileError,
    line_and_column,
)
from stackmask.grammar.source.files import read_text
from stackmask.grammar.source.similar import advice, similar
from stackmask.grammar.source.work import check_text, spend

MAX_SUGGESTIONS: Final = 20  # looking for similar names compares with every name there is


class Notation(NamedTuple):
    """What differs between notations where files are loaded.

    ``method``: reads a text. ``suffix``: of imported files whose paths are written as names with dots; empty
    if paths are written as they are. ``path``: such a path in messages, ``lacks``: a file without a wanted
    rule, ``define``: how to define a rule or write a text.
    """

    what: str
    method: str
    suffix: str
    path: str
    lacks: str
    define: str


class SourceFiles:
    """The texts of a grammar, each parsed once, with the problems found in them."""

    def __init__(self, parse: Callable[[str, int, Collector], Module], notation: Notation) -> None:
        self.texts: list[SourceText] = []
        self.problems: list[Collector] = []
        self.notation = notation
        self._parse = parse
        self._known: dict[tuple[str, Path | None], tuple[Module, Collector]] = {}
        self._suggestions = 0

    def parsed(self, text: str, name: str, path: Path | None) -> tuple[Module, Collector]:
        """Return the parsed text, and the problems found. Each text is parsed once."""
        known = self._known.get((name, path))
        if known is None:
            check_text(f"`{name}`", text)
            problems = self.add(name, text)
            known = self._known[name, path] = (self._parse(text, problems.source, problems), problems)
        return known

    def add(self, name: str, text: str) -> Collector:
        """Add a text, and return the collector for its problems."""
        self.texts.append(SourceText(name, text))
        self.problems.append(Collector(len(self.texts) - 1))
        return self.problems[-1]

    def suggest(self, name: str, names: Iterable[str]) -> str | None:
        """Return the most similar name, but only in the first few calls."""
        self._suggestions += 1
        return similar(name, names) if self._suggestions <= MAX_SUGGESTIONS else None

    def line_of(self, span: Span) -> int:
        """Return the number of a line. This is slow, since it counts the previous lines."""
        spend(span.start // 8)
        return line_and_column(self.texts[span.source].text, span.start)[0]

    def stop_on_problems(self, foreign: Callable[[str], Foreign | None] | None) -> None:
        """Raise an error for a grammar with problems. ``foreign``: recognises texts in another notation.

        Raises: GrammarError.
        """
        found: list[Diagnostic] = []
        for source, problems in zip(self.texts, self.problems, strict=True):
            other = foreign(source.text) if problems.found and foreign is not None else None
            if other is None:
                found += problems.found
            else:  # all else that is wrong with it comes of this
                span = Span(other.start, other.end, problems.source)
                message = f"this is {other.what}, not a grammar of {self.notation.what}"
                found.append(Diagnostic("G019", message, span, help=other.cure))
        if found:
            raise GrammarError(list(dict.fromkeys(found)), self.texts)


class Found(NamedTuple):
    """An imported text. ``path``: None for one that is not in a file."""

    name: str
    text: str
    path: Path | None


@dataclass(slots=True, eq=False)
class File:
    """A parsed file. ``folder``: that to which imported paths are relative. ``prefix``: of its names elsewhere."""

    module: Module
    text: str
    folder: Path | None
    problems: Collector
    path: Path | None = None
    prefix: str = ""


AnyFile = TypeVar("AnyFile", bound=File)


class Loader(ABC, Generic[AnyFile]):
    """The files of a grammar, of which a notation says what their imports define."""

    def __init__(self, sources: SourceFiles) -> None:
        self.sources = sources
        self.files: list[AnyFile] = []
        self._read: dict[Path, Found] = {}  # a path may be written in many ways

    @property
    def root(self) -> AnyFile:
        return self.files[0]

    @property
    def parts(self) -> dict[str, Part]:
        """Return all parts in other languages."""
        return {name: part for file in self.files for name, part in file.module.parts.items()}

    def follow_imports(self) -> None:
        """Add the imported files, with those that they import."""
        for file in self.files:  # grows while files are added
            groups: dict[tuple[bool, str], list[Import]] = {}
            for one in file.module.imports:
                groups.setdefault((one.is_path, one.target), []).append(one)
            for group in groups.values():
                self.add_imported(file, group, self.find(file, group[0]))

    @abstractmethod
    def add_imported(self, file: AnyFile, group: list[Import], found: Found | None) -> None:
        """Add the names that a file imports from one place. ``found``: None if that failed."""

    @abstractmethod
    def bundled(self, file: AnyFile, wanted: Import) -> Found | None:
        """Return a bundled text; None if there is none of this name, which is reported."""

    def find(self, file: AnyFile, wanted: Import) -> Found | None:
        """Return what is imported; None if this fails, which is reported."""
        if not wanted.is_path:
            return self.bundled(file, wanted)
        notation, target = self.sources.notation, wanted.target
        if file.folder is None:
            message = f"cannot import {notation.path.format(target)}: this grammar is not in a file"
            help = f"load it with Grammar.from_file, or pass base= to {notation.method}"
            file.problems.at(wanted.span, "G013", message, help, "relative to which folder?")
            return None
        path = file.folder / (target.replace(".", "/") + notation.suffix if notation.suffix else target)
        spend(100)
        key = path.resolve()
        if key not in self._read:
            try:
                self._read[key] = Found(str(path), read_text(path), key)
            except GrammarFileError as error:
                file.problems.at(wanted.span, "G013", str(error), "", "imported here")
                return None
        return self._read[key]

    def has(self, file: AnyFile, target: str, there: Name, known: Collection[str]) -> bool:
        """Return whether an imported file defines a name; otherwise report that it is missing."""
        if there.name in known:
            return True
        message = f"`{target}` {self.sources.notation.lacks} `{there.name}`"
        file.problems.at(there.span, "G014", message, advice(there.name, known, ""), "nothing to import")
        return False

    def meant(
        self,
        use: Name | Use | CountedUse,
        names: Iterable[str],
        place_of: Callable[[str], Span | None],
    ) -> str:
        """Return the advice for an undefined name. ``names``: those that may be meant."""
        close = self.sources.suggest(use.name, names)
        if close is None:
            return self.sources.notation.define.format(use.name)
        place = place_of(close)
        if place is None or place.source != use.span.source:
            return f"did you mean `{close}`?"
        return f"did you mean `{close}` (line {self.sources.line_of(place)})?"
