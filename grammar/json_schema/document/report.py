"""Notes on parts of a schema that were narrowed, read as annotations, or relaxed."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from stackmask.grammar.json_schema.document.drafts import is_unknown, subschema_keys, why_unknown
from stackmask.grammar.json_schema.document.errors import Where, pointer
from stackmask.grammar.source.notes import NoteReport
from stackmask.grammar.source.work import spend

MAX_PLACES: Final = 1000  # at which one note is shown
MAX_MEANT: Final = 50  # unknown keywords that are compared with known ones

Kind = Literal["narrowed", "annotation", "relaxed", "unknown"]


@dataclass(frozen=True, slots=True)
class Note:
    """A note about one location: ``kind`` is the way it was treated, ``reason`` the explanation."""

    kind: Kind
    pointer: str
    keyword: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.pointer}: {f'`{self.keyword}`: ' if self.keyword else ''}{self.reason}"


class Copied(NamedTuple):
    """A snapshot of a schema as ``marshal`` writes it, independent of changes by the schema's owner."""

    data: bytes

    def schema(self) -> Any:
        """Return the schema, with shared objects restored."""
        return marshal.loads(self.data)


class Report(NoteReport[Note]):
    """How the grammar of a schema differs from the schema.

    ``narrowed``: texts of valid values that the grammar excludes. ``annotations``: keywords that do not
    affect validity. ``relaxed``: keywords that could not be enforced, with ``on_unsupported="relax"`` only.
    ``unknown``: keywords that no draft defines. ``keywords``: those that affected the grammar.

    Equal parts of a schema are processed once; their notes apply to all of them, and are repeated for each
    location when the notes are first requested.
    """

    __slots__ = ("_all", "_keywords", "_raw", "meant", "options", "parts", "repeated", "source")

    def __init__(self) -> None:
        self._raw: list[tuple[Kind, Where, str, str]] = []
        # the place of a part that was worked out, and that of an equal one, one after the other
        self.repeated: list[Where] = []
        self._all: list[Note] | None = None
        self._keywords: dict[str, int] | None = None
        # the keywords that say something of values, in the draft of the schema
        self.meant: frozenset[str] = frozenset()
        # the schema, or a copy of it, whose unknown keywords are looked for when somebody asks
        self.source: Any = None
        # what tells which options leave something out of this schema, when somebody asks
        self.options: Callable[[Any], Iterable[str]] | None = None
        # reports of schemas that are parts of a request, with their places in it
        self.parts: list[tuple[Where, Report]] = []

    def add(self, kind: Kind, where: Where, keyword: str, reason: str) -> None:
        """Add a note; duplicates are ignored."""
        self._raw.append((kind, where, keyword, reason))
        self._all = None

    def copy(self) -> Report:
        """Return a report with the same notes."""
        found = Report()
        found.source, found.options, found.meant = self.source, self.options, self.meant
        found._raw = list(self._raw)
        found.repeated = self.repeated
        return found

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return only the evaluated notes: their sources may contain types that cannot be pickled."""
        known = {
            "_all": self.notes,
            "_keywords": self.keywords,
            "_raw": self._raw,
            "repeated": self.repeated,
        }
        return None, {**known, "meant": self.meant, "options": None, "parts": [], "source": None}

    @property
    def notes(self) -> list[Note]:
        """All notes. Cost: linear in the notes and the equal parts, once; the schema is read again for each
        option that excludes texts.
        """
        if self._all is None:
            repeats: dict[str, list[str]] = {}
            if self._raw:
                for first, other in zip(self.repeated[::2], self.repeated[1::2], strict=True):
                    repeats.setdefault(pointer(first), []).append(pointer(other))
            notes: dict[Note, None] = {}
            for kind, where, keyword, reason in self._raw:
                for place in _places(pointer(where), repeats):
                    notes[Note(kind, place, keyword, reason)] = None
            source = self._schema()
            left_out = () if self.options is None else self.options(source)
            notes.update(dict.fromkeys(Note("narrowed", pointer(""), "", text) for text in left_out))
            for part, report in self.parts:
                alone = report.copy()
                alone.options = None  # which belong to the request, and not to its parts
                place = pointer(part)
                for note in alone.notes:
                    inside = place + note.pointer[1:] if note.pointer.startswith("#") else note.pointer
                    notes[replace(note, pointer=inside)] = None
            self._all = [*_unknown_keywords(source), *notes]
        return self._all

    @property
    def keywords(self) -> dict[str, int]:
        """The keywords that affected the grammar, in order, with their frequency. Cost: linear, once."""
        if self._keywords is None:
            self._keywords = {}
            for schema, _ in _subschemas(self._schema()):
                for keyword in schema:
                    if keyword in self.meant:
                        self._keywords[keyword] = self._keywords.get(keyword, 0) + 1
        return self._keywords

    def _schema(self) -> Any:
        return self.source.schema() if type(self.source) is Copied else self.source

    @property
    def unknown(self) -> list[Note]:
        return self.of_kind("unknown")


def copied(schema: Any) -> Any:
    """Return a copy of a schema; the schema itself if some of its objects are not plain values."""
    try:
        return Copied(marshal.dumps(schema, 4))
    except ValueError:
        return schema


def _subschemas(source: Any) -> Iterator[tuple[dict[str, Any], Where]]:
    """Yield a schema and its subschemas, with their locations; each shared one once. Cost: linear."""
    seen: set[int] = set()
    todo: list[tuple[Any, Where]] = [(source, "")]
    while todo:
        schema, where = todo.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        spend(1 + len(schema))
        yield schema, where
        for keyword, key in reversed(subschema_keys(schema)):
            inner = schema[keyword] if key is None else schema[keyword][key]
            todo.append((inner, (where, keyword) if key is None else ((where, keyword), key)))


def place_of_name(source: Any, name: str) -> Where:
    """Return the location of the first property with this name in a schema, or of the schema itself if there
    is none. Cost: linear.
    """
    for schema, where in _subschemas(source):
        if isinstance(properties := schema.get("properties"), dict) and name in properties:
            return ((where, "properties"), name)
    return ""


def _unknown_keywords(source: Any) -> list[Note]:
    """Return a note for each keyword in a schema or subschema that no draft defines, ``MAX_PLACES`` at most."""
    found: list[Note] = []
    reasons: dict[str, str] = {}
    for schema, where in _subschemas(source):
        for keyword in schema:
            if isinstance(keyword, str) and is_unknown(keyword):
                reason = reasons.get(keyword) or why_unknown(keyword, len(reasons) < MAX_MEANT)
                reasons[keyword] = reason
                found.append(Note("unknown", pointer(where), keyword, reason))
        if len(found) >= MAX_PLACES:
            break
    return found[:MAX_PLACES]


def _places(place: str, repeats: dict[str, list[str]]) -> list[str]:
    """Return a location and those of equal parts of the schema, at most ``MAX_PLACES``."""
    found = [place]
    seen = {place}
    for known in found:  # grows
        end = len(known)
        while end > 0 and len(found) < MAX_PLACES:
            for other in repeats.get(known[:end], ()):
                inside = other + known[end:]
                if inside not in seen:
                    seen.add(inside)
                    found.append(inside)
            end = known.rfind("/", 0, end)
        if not repeats:
            break
    return found
