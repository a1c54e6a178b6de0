"""What was done with a schema besides enforcing it: narrowed, read as annotation, relaxed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from stackmask.grammar.json_schema.errors import Where, pointer

Kind = Literal["narrowed", "annotation", "relaxed"]


@dataclass(frozen=True, slots=True)
class Note:
    """One place: ``kind`` says what was done there, ``reason`` why."""

    kind: Kind
    pointer: str
    keyword: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.pointer}: {f'`{self.keyword}`: ' if self.keyword else ''}{self.reason}"


@dataclass(slots=True)
class Report:
    """How the grammar of a schema differs from the schema.

    ``narrowed``: texts of valid values that the grammar leaves out. ``annotations``: keywords that mean nothing
    for validity. ``relaxed``: what could not be enforced, with ``on_unsupported="relax"`` only.
    """

    notes: list[Note] = field(default_factory=list)
    _seen: set[tuple[str, str, str, str]] = field(default_factory=set, repr=False)

    def add(self, kind: Kind, where: Where, keyword: str, reason: str) -> None:
        """Add a note, unless the same was added before."""
        self.add_at(kind, pointer(where), keyword, reason)

    def add_at(self, kind: Kind, place: str, keyword: str, reason: str) -> None:
        """Add a note for a place that is a pointer already, unless the same was added before."""
        key = (kind, place, keyword, reason)
        if key not in self._seen:
            self._seen.add(key)
            self.notes.append(Note(kind, place, keyword, reason))

    @property
    def narrowed(self) -> list[Note]:
        return [note for note in self.notes if note.kind == "narrowed"]

    @property
    def annotations(self) -> list[Note]:
        return [note for note in self.notes if note.kind == "annotation"]

    @property
    def relaxed(self) -> list[Note]:
        return [note for note in self.notes if note.kind == "relaxed"]

    def __str__(self) -> str:
        return "\n".join(map(str, self.notes)) or "nothing narrowed, nothing relaxed"
