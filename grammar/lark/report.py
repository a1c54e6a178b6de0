"""What a Lark grammar says that has no effect on its texts, and where its language here is not quite that of Lark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from stackmask.grammar.ir import SourceText, Span
from stackmask.grammar.source.diagnostics import Diagnostic, line_and_column

MAX_NOTES: Final = 1_000
Kind = Literal["narrowed", "annotation", "relaxed"]


@dataclass(frozen=True, slots=True)
class LarkNote:
    """One place: what stands there, and what came of it. ``place``: the file with line and column."""

    kind: Kind
    place: str
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: `{self.what}`: {self.reason}"


class LarkReport:
    """How the grammar differs from what was written.

    ``narrowed``: texts that Lark accepts and the grammar leaves out. ``relaxed``: texts that it has and Lark does not.
    ``annotations``: what has no effect on which texts there are, such as priorities. ``warnings``: what is not used.
    """

    __slots__ = ("notes", "warnings")

    def __init__(self, notes: Iterable[LarkNote] = (), warnings: Iterable[Diagnostic] = ()) -> None:
        self.notes = list(dict.fromkeys(notes))[:MAX_NOTES]
        self.warnings = tuple(warnings)

    @property
    def narrowed(self) -> list[LarkNote]:
        return [note for note in self.notes if note.kind == "narrowed"]

    @property
    def annotations(self) -> list[LarkNote]:
        return [note for note in self.notes if note.kind == "annotation"]

    @property
    def relaxed(self) -> list[LarkNote]:
        return [note for note in self.notes if note.kind == "relaxed"]

    def __repr__(self) -> str:
        return f"<LarkReport: {len(self.notes)} notes>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.notes)) or "nothing narrowed, nothing relaxed"


class Notes:
    """Collects notes with their places, while the sources are not complete."""

    def __init__(self) -> None:
        self.found: list[tuple[Kind, Span, str, str]] = []

    def add(self, kind: Kind, span: Span, what: str, reason: str) -> None:
        if len(self.found) < MAX_NOTES:
            self.found.append((kind, span, what, reason))

    def report(self, sources: list[SourceText], warnings: Iterable[Diagnostic] = ()) -> LarkReport:
        """Return the report, in the order of the places. Cost: linear in the texts, for each note."""
        lines = []
        for kind, span, what, reason in sorted(self.found, key=lambda note: (note[1].source, note[1].start)):
            source = sources[span.source]
            line, column = line_and_column(source.text, span.start)
            lines.append(LarkNote(kind, f"{source.name}:{line}:{column}", what, reason))
        return LarkReport(lines, warnings)
