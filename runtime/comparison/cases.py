"""The cases of an audit: a language with texts, read from a file of cases, from one grammar, or from one schema."""

from __future__ import annotations

import json
import lzma
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.comparison.subject import Flavor, Subject, read_subject
from stackmask.runtime.comparison.subject import Kind as SubjectKind

KINDS: Final[tuple[SubjectKind, ...]] = ("schema", "regex", "grammar", "sql")
ENDINGS: Final = (".jsonl", ".jsonl.xz")
MAX_TEXT: Final = 20_000  # characters of a text of a case; longer ones are left out


class AuditError(StackmaskError):
    """The audit is impossible, since the cases, an engine's name or the folder of results is unsuitable."""


@dataclass(frozen=True, slots=True)
class Case:
    """A language with texts, which the validators judge. ``name``: unique in an audit."""

    name: str
    language: Subject
    texts: tuple[str, ...] = ()


def read_cases(argument: str) -> Iterator[Case]:
    """Yield the cases of a file (``.jsonl``, ``.jsonl.xz``), or the single case that an argument names.

    A line of a file: ``{"id": …, "schema" | "regex" | "grammar" | "sql": …, "tests": [{"data": …} | {"text": …}]}``.
    Raises: AuditError with the number of the line; ComparisonError, GrammarFileError for other arguments.
    """
    if argument.endswith(ENDINGS):
        yield from _listed(Path(argument))
        return
    subject = read_subject(argument)
    yield Case(subject.title, subject)


def sample(cases: list[Case], count: int, seed: int) -> list[Case]:
    """Return some random cases, the same for the same seed; for a count of 0, all cases in random order."""
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
        raise TypeError(f"{kind} is not text")
    texts = []
    for test in record.get("tests", ()):
        text = test["text"] if "text" in test else json.dumps(test["data"], ensure_ascii=False)
        if len(text) <= MAX_TEXT and text not in texts:
            texts.append(text)
    flavor = record.get("flavor", "ecma")
    if flavor not in ("ecma", "python", "rust"):
        raise ValueError(f"no flavour of patterns: {flavor!r}")
    language = Subject(kind, source, start=record.get("start"), flavor=cast(Flavor, flavor))
    return Case(str(record.get("id", number)), language, tuple(texts))


# -- What an audit finds, as values that go to a file and to the page ------------------------------------

Kind: TypeAlias = Literal["over", "under", "undecided", "fault"]
KEPT: Final = 2  # witnesses of one engine, kind and category that a case keeps; the others are counted


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference, with its witness.

    ``kind``: ``over``: a token was forbidden that begins the rest of a valid text; ``under``: a token was
    allowed that leads to no valid text; ``fault``: the engine raised an error, hung, crashed, or returned a
    wrong mask. ``category``: the violated constraint, or the spelling that the engine requires. ``proof``:
    the reason for certainty. The text is ``before`` + ``token`` + ``after``. ``says``: the judges' messages.
    ``source``: the origin of the text.
    """

    engine: str
    kind: Kind
    category: str
    proof: str
    before: str = ""
    token: str = ""
    after: str = ""
    says: dict[str, str] = field(default_factory=dict)
    source: str = ""


@dataclass(slots=True)
class EngineRecord:
    """The record of one engine in one case. ``state``: ``compiled``, ``refused`` or ``fault``; ``places``:
    the number of compared masks; ``differing``: the number of bits that differ from the reference;
    ``judged``, ``decided``: the differences that were extended to a text.
    """

    state: str = "compiled"
    message: str = ""
    places: int = 0
    differing: int = 0
    judged: int = 0
    decided: int = 0
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class CaseResult:
    """The result of one case. ``unjudged``: why no judge reads the language, else empty; ``cut``: out of time."""

    name: str
    kind: str
    source: str
    unjudged: str = ""
    seconds: float = 0.0
    cut: bool = False
    texts: Counter[str] = field(default_factory=Counter)
    engines: dict[str, EngineRecord] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def note(self, finding: Finding) -> None:
        """Count a finding, and keep the first ones of its kind."""
        key = f"{finding.kind}: {finding.category}"
        record = self.engines[finding.engine]
        record.counts[key] += 1
        if record.counts[key] <= KEPT:
            self.findings.append(finding)

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        # by hand: `asdict` takes counters for mappings of another sort before Python 3.12
        engines = {name: _values(record) for name, record in self.engines.items()}
        return {
            **found,
            "texts": dict(self.texts),
            "engines": engines,
            "findings": [_values(finding) for finding in self.findings],
        }


def _values(record: EngineRecord | Finding) -> dict[str, Any]:
    found = {each.name: getattr(record, each.name) for each in fields(record)}
    return {name: dict(value) if isinstance(value, dict) else value for name, value in found.items()}


def case_result(value: dict[str, Any]) -> CaseResult:
    """Return the result written by ``as_json``."""
    engines = {
        name: EngineRecord(**{**record, "counts": Counter(record["counts"])})
        for name, record in value["engines"].items()
    }
    findings = [Finding(**finding) for finding in value["findings"]]
    return CaseResult(**{**value, "texts": Counter(value["texts"]), "engines": engines, "findings": findings})
