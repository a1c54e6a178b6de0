"""What every report of the differences between a grammar and its source has."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar


class AnyNote(Protocol):
    """A note. ``kind``: "narrowed", "annotation" or "relaxed"."""

    @property
    def kind(self) -> str: ...


N = TypeVar("N", bound=AnyNote)


class NoteReport(Generic[N]):
    """Notes by kind, and as text."""

    __slots__ = ()
    _notes: list[N]

    @property
    def notes(self) -> list[N]:
        """All notes."""
        return self._notes

    def of_kind(self, kind: str) -> list[N]:
        """Return the notes of one kind."""
        return [note for note in self.notes if note.kind == kind]

    @property
    def narrowed(self) -> list[N]:
        return self.of_kind("narrowed")

    @property
    def annotations(self) -> list[N]:
        return self.of_kind("annotation")

    @property
    def relaxed(self) -> list[N]:
        return self.of_kind("relaxed")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.notes)} note{'s' * (len(self.notes) != 1)}>"

    def __str__(self) -> str:
        return "\n".join(map(str, self.notes)) or "nothing narrowed, nothing relaxed"
