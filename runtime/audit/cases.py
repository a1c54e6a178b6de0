"""What is audited: a language with texts of it, read from a file of cases, from one grammar, or from one schema."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.comparison.subject import Flavor, Subject, read_subject

LanguageKind: TypeAlias = Literal["schema", "regex", "grammar", "sql"]
KINDS: Final[tuple[LanguageKind, ...]] = ("schema", "regex", "grammar", "sql")
ENDINGS: Final = (".jsonl", ".jsonl.xz")
MAX_TEXT: Final = 20_000  # characters of a text of a case; longer ones are left out


class AuditError(StackmaskError):
    """An audit that cannot be made: the cases, an engine's name or the folder of results will not do."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language. ``source``: a schema as JSON, a pattern of whole texts, a grammar in EBNF, or the DDL of SQLite tables."""

    kind: LanguageKind
    source: str
    start: str | None = None
    flavor: Flavor = "ecma"

    def subject(self) -> Subject | None:
        """Return what other libraries are given; None for SQL, which they have no notation for."""
        if self.kind == "sql":
            return None
        return Subject(self.kind, self.source, start=self.start, flavor=self.flavor)


@dataclass(frozen=True, slots=True)
class Case:
    """A language and texts, of which the validators say which are right; ``name`` is unique in an audit."""

    name: str
    language: Language
    texts: tuple[str, ...] = ()


def read_cases(argument: str, kind: LanguageKind | None = None) -> Iterator[Case]:
    """Yield the cases of a file of them (``.jsonl``, ``.jsonl.xz``), or the one that an argument names.

    A line of a file: ``{"id": …, "schema" | "regex" | "grammar" | "sql": …, "tests": [{"data": …} | {"text": …}]}``.
    Raises: AuditError with the number of the line; ComparisonError, GrammarFileError for other arguments.
    """
    if argument.endswith(ENDINGS):
        yield from _listed(Path(argument))
        return
    if kind == "sql":
        path = Path(argument)
        if not path.is_file():
            raise AuditError(f"no such file of CREATE TABLE statements: {argument}")
        yield Case(path.name, Language("sql", path.read_text("utf-8")))
        return
    subject = read_subject(argument, kind)
    yield Case(subject.title, Language(subject.kind, subject.source, subject.start, subject.flavor))


def sample(cases: list[Case], count: int, seed: int) -> list[Case]:
    """Return some cases, the same for the same seed; all of them, in an order of the seed, for a count of 0."""
    mixed = sorted(cases, key=lambda case: case.name)
    random.Random(seed).shuffle(mixed)
    return mixed[:count] if count else mixed


def _listed(path: Path) -> Iterator[Case]:
    read = lzma.open if path.suffix == ".xz" else open
    try:
        opened = read(path, "rt", encoding="utf-8")
    except OSError as error:
        raise AuditError(f"cannot read the cases {path}: {error.strerror or error}") from None
    seen: set[str] = set()
    with opened as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                case = _case(json.loads(line), number)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise AuditError(f"{path}, line {number}: no case: {error}") from None
            if case.name in seen:
                raise AuditError(f"{path}, line {number}: a second case {case.name!r}")
            seen.add(case.name)
            yield case


def _case(record: dict[str, Any], number: int) -> Case:
    kind = next((name for name in KINDS if name in record), None)
    if kind is None:
        raise ValueError(f"it has none of {', '.join(KINDS)}")
    value = record[kind]
    source = json.dumps(value, ensure_ascii=False) if kind == "schema" else value
    if not isinstance(source, str):
        raise TypeError(f"{kind} is no text")
    texts = []
    for test in record.get("tests", ()):
        text = test["text"] if "text" in test else json.dumps(test["data"], ensure_ascii=False)
        if len(text) <= MAX_TEXT and text not in texts:
            texts.append(text)
    flavor = record.get("flavor", "ecma")
    if flavor not in ("ecma", "python", "rust"):
        raise ValueError(f"no flavour of patterns: {flavor!r}")
    language = Language(kind, source, record.get("start"), cast(Flavor, flavor))
    return Case(str(record.get("id", number)), language, tuple(texts))
