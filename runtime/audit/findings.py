"""What an audit finds, as values that go to a file and to the page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal["over", "under", "undecided", "fault"]
KEPT: Final = 2  # witnesses of one engine, kind and category that a case keeps; the others are counted


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference with its witness.

    ``kind``: ``over``: a token was forbidden that begins the rest of a valid text; ``under``: one was allowed that leads to no
    valid text; ``fault``: the engine raised, hung, crashed, or gave a wrong mask. ``category``: what is broken, or how the
    value would have to be written. ``proof``: why it is certain. The text is ``before`` + ``token`` + ``after``.
    ``says``: the judges' words. ``source``: how the audit came there.
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
    """One engine in one case. ``state``: ``compiled``, ``refused`` or ``fault``; ``places``: masks that were compared;
    ``differing``: bits of them unlike the reference's; ``judged``, ``decided``: differences that were followed to a text."""

    state: str = "compiled"
    message: str = ""
    places: int = 0
    differing: int = 0
    judged: int = 0
    decided: int = 0
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class CaseResult:
    """What came out for one case. ``unjudged``: why no judge reads the language, else empty; ``cut``: out of time."""

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
        """Count a finding, and keep the first ones of its sort."""
        key = f"{finding.kind}: {finding.category}"
        record = self.engines[finding.engine]
        record.counts[key] += 1
        if record.counts[key] <= KEPT:
            self.findings.append(finding)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
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
    """Return the result that ``as_json`` wrote."""
    engines = {
        name: EngineRecord(**{**record, "counts": Counter(record["counts"])})
        for name, record in value["engines"].items()
    }
    findings = [Finding(**finding) for finding in value["findings"]]
    return CaseResult(**{**value, "texts": Counter(value["texts"]), "engines": engines, "findings": findings})
