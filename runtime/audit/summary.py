"""The figures of an audit: what was found for each engine and category, and which cases are the worst."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from stackmask.runtime.audit.findings import CaseResult, EngineRecord, Finding
from stackmask.runtime.audit.judges import FORMAT, NAME_TWICE, OPTIONAL
from stackmask.runtime.audit.run import Audit

HABITS: Final = ("blanks", "order", "spelling", "tokens")  # of an engine that forbids a valid text
MEANINGS: Final = {
    "over: value": "a valid value cannot be written",
    "over: order": "only with properties in declared order",
    "over: spelling": "only with other escapes, digits or number spellings",
    "over: blanks": "only with other blanks",
    "over: tokens": "only cut into other tokens",
    "under: dead end": "its own mask leads to where nothing is allowed",
    "under: no beginning": "no text of the language begins so",
    "under: special token": "a token that is no text",
    "fault: error state": "the engine says that it fails",
    "fault: wrong mask": "wrong width or type, or it refuses what its mask allows",
    "under: no JSON": "a whole text that is no JSON",
    f"under: {FORMAT}": "formats are not enforced, which the specification permits",
    f"under: {NAME_TWICE}": "a key may come again, which JSON permits",
}
SEVERE: Final = 3  # how much more a proven error counts in the order of the worst than a habit of writing


@dataclass(slots=True)
class EngineSummary:
    """One engine over all cases. ``cases``: by state; ``found``, ``affected``: findings and cases by kind and category;
    ``wrong``: cases with a proven error that is no habit of writing; ``reasons``: why it refused, by first words."""

    name: str
    version: str
    cases: Counter[str] = field(default_factory=Counter)
    places: int = 0
    differing: int = 0
    judged: int = 0
    decided: int = 0
    found: Counter[str] = field(default_factory=Counter)
    affected: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "version": self.version,
            "cases": dict(self.cases),
            "masks": self.places,
            "differing_bits": self.differing,
            "judged": self.judged,
            "decided": self.decided,
            "cases_with_proven_errors": self.wrong,
            "findings": dict(self.found.most_common()),
            "cases_affected": dict(self.affected.most_common()),
            "refusals": dict(self.reasons.most_common(20)),
        }


def is_proven_error(key: str) -> bool:
    """Return whether a kind and category is an error, and no habit of writing: the value, the language or the engine suffers."""
    kind, _, category = key.partition(": ")
    return kind == "fault" or (
        category not in HABITS if kind == "over" else kind == "under" and category not in OPTIONAL
    )


def summarise(audit: Audit) -> list[EngineSummary]:
    """Return the figures of each engine, in the order of the audit."""
    found = {name: EngineSummary(name, version) for name, version in audit.about["engines"].items()}
    for result in audit.results:
        if result.unjudged:
            continue
        for name, record in result.engines.items():
            _add(found[name], record)
    return list(found.values())


def _add(summary: EngineSummary, record: EngineRecord) -> None:
    summary.cases[record.state] += 1
    if record.state == "refused":
        summary.reasons[record.message[:60]] += 1
    summary.places += record.places
    summary.differing += record.differing
    summary.judged += record.judged
    summary.decided += record.decided
    summary.found.update(record.counts)
    summary.affected.update(record.counts.keys())
    summary.wrong += any(map(is_proven_error, record.counts))


def worst_cases(audit: Audit, count: int) -> list[tuple[CaseResult, int]]:
    """Return the cases with most sorts of proven errors, with the number of findings."""
    ranked = []
    for result in audit.results:
        counts: Counter[str] = Counter()
        sorts: Counter[str] = Counter()
        for name, record in result.engines.items():
            counts.update(record.counts)
            sorts.update({f"{name} {key}": 1 for key in record.counts if is_proven_error(key)})
        if sorts:
            ranked.append((len(sorts) * SEVERE, counts.total(), result))
    ranked.sort(key=lambda entry: (-entry[0], -entry[1], entry[2].name))
    return [(result, total) for _, total, result in ranked[:count]]


def examples(audit: Audit, most: int) -> dict[tuple[str, str], list[tuple[str, Finding]]]:
    """Return some findings with their cases for each engine and sort; short texts first."""
    found: defaultdict[tuple[str, str], list[tuple[str, Finding]]] = defaultdict(list)
    for result in audit.results:
        for finding in result.findings:
            found[finding.engine, f"{finding.kind}: {finding.category}"].append((result.name, finding))

    def length(entry: tuple[str, Finding]) -> int:
        return len(entry[1].before) + len(entry[1].after)

    picked = {}
    for key, listed in found.items():
        listed.sort(key=lambda entry: (length(entry), entry[0]))
        by_case: dict[str, tuple[str, Finding]] = {}
        for entry in listed:  # one of a case
            by_case.setdefault(entry[0], entry)
        picked[key] = list(by_case.values())[:most]
    return picked


def audit_json(audit: Audit) -> dict[str, Any]:
    """Return all figures for machines; the findings themselves are in the file of cases."""
    results = audit.results
    texts: Counter[str] = Counter()
    for result in results:
        texts.update(result.texts)
    return {
        **audit.about,
        "done": len(results),
        "unjudged": sum(bool(result.unjudged) for result in results),
        "out_of_time": sum(result.cut for result in results),
        "seconds": round(sum(result.seconds for result in results), 1),
        "texts": dict(texts),
        "engines": {summary.name: summary.as_json() for summary in summarise(audit)},
    }
