"""``stackmask audit``: compare engines' masks, and show each difference with a text that validators judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Table

from stackmask.runtime.cli.console import cell, messages, output, show
from stackmask.runtime.comparison.audit import Audit, about_audit, open_audit, run_audit
from stackmask.runtime.comparison.auditor import Settings
from stackmask.runtime.comparison.cases import AuditError, Case, CaseResult, read_cases, sample
from stackmask.runtime.comparison.report import audit_json, is_proven_error, report_page, summarise
from stackmask.runtime.comparison.tokenizer import load_tokenizer
from stackmask.runtime.extras import require

if TYPE_CHECKING:
    from stackmask.runtime.comparison.report import EngineSummary

NO_ERRORS, ERRORS, UNFINISHED = 0, 1, 3
TELL_EVERY: Final = 10  # cases, where there is no terminal
REPORT: Final = "report.html"
FIGURES: Final = "report.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command line. ``sample``: 0 means all cases; ``budget``: seconds, None for no limit."""

    engines: Sequence[str]
    tokenizer: str | None
    folder: Path
    sample: int
    budget: float | None
    settings: Settings


def run(names: Sequence[str], asked: Asked) -> int:
    """Audit, write the page and the figures, print a table; return the exit status."""
    cases = _cases(names, asked)
    if any(case.language.kind == "schema" for case in cases):
        with require("audit"):
            import jsonschema  # noqa: F401  # the judge of schemas
    tokenizer = load_tokenizer(asked.tokenizer)
    about = about_audit(tokenizer, asked.engines, asked.settings, len(cases))
    audit = open_audit(asked.folder, about)
    if audit.results:
        show(messages(), f"{len(audit.results):,} cases are done already")
    try:
        whole = run_audit(audit, cases, tokenizer, asked.folder, asked.settings, asked.budget, _Progress())
    finally:
        _write(audit, asked.folder, ", ".join(Path(name).name or name for name in names))
    summaries = summarise(audit)
    _print(audit, summaries, asked.folder)
    if not whole:
        show(messages(), "the time is over; run the same command again to continue with the other cases")
        return UNFINISHED
    return ERRORS if any(each.wrong for each in summaries) else NO_ERRORS


def _cases(names: Sequence[str], asked: Asked) -> list[Case]:
    found = [case for name in names for case in read_cases(name)]
    if len({case.name for case in found}) < len(found):
        raise AuditError("two cases have the same name")
    if not found:
        raise AuditError("there are no cases")
    return sample(found, asked.sample, asked.settings.seed)


class _Progress:
    """A progress line on standard error, with the progress of the audit and the number of proven errors."""

    def __init__(self) -> None:
        self.console = messages()
        self.errors = 0

    def __call__(self, done: int, planned: int, result: CaseResult) -> None:
        self.errors += sum(
            count
            for record in result.engines.values()
            for key, count in record.counts.items()
            if is_proven_error(key)
        )
        line = f"{done:,} of {planned:,} cases, {self.errors:,} proven errors"
        if self.console.is_terminal:
            self.console.print(line, end="\r")
        elif done % TELL_EVERY == 0 or done == planned:
            show(self.console, line)


def _write(audit: Audit, folder: Path, title: str) -> None:
    (folder / REPORT).write_text(report_page(audit, title), "utf-8", "backslashreplace")
    (folder / FIGURES).write_text(json.dumps(audit_json(audit), indent=1, ensure_ascii=False) + "\n", "utf-8")


def _print(audit: Audit, summaries: list[EngineSummary], folder: Path) -> None:
    table = Table(
        "engine", "compiled", "refused", "failed", "masks", "judged", "decided", "cases with proven errors"
    )
    for each in summaries:
        share = f"{100 * each.decided / each.judged:.1f}%" if each.judged else "–"
        figures = [
            *(each.cases[state] for state in ("compiled", "refused", "fault")),
            each.places,
            each.judged,
        ]
        row = [
            f"{each.name} {each.version}".strip(),
            *(f"{value:,}" for value in figures),
            share,
            f"{each.wrong:,}",
        ]
        table.add_row(*map(cell, row))
    output().print(table)
    for each in summaries:
        for key, count in each.affected.most_common():
            show(output(), f"{each.name}: {key}: {count:,} cases, {each.found[key]:,} findings")
    unjudged = sum(bool(result.unjudged) for result in audit.results)
    if unjudged:
        show(output(), f"{unjudged:,} cases that no judge reads were left out")
    show(output(), f"{folder / REPORT} shows the strings")
