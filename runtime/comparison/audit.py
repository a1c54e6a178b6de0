"""An audit of many cases. Results are appended to a file, so that an interrupted audit can be resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stackmask.runtime.child import Child, WorkerFault
from stackmask.runtime.comparison.audited import OURS, PEER_NAMES, PROCESSOR, factory_of, version_of
from stackmask.runtime.comparison.auditor import Auditor, Settings
from stackmask.runtime.comparison.cases import AuditError, Case, CaseResult, case_result
from stackmask.runtime.comparison.judges import judge_versions
from stackmask.runtime.comparison.workers import ENGINE, JUDGE

if TYPE_CHECKING:
    from stackmask.runtime.comparison.tokenizer import Tokenizer

CASES_FILE: Final = "cases.jsonl"
ABOUT_FILE: Final = "about.json"
CALL_S: Final = 20.0  # that one call to a judge may take


@dataclass(slots=True)
class Audit:
    """All results of a folder. ``about``: engines, judges, tokenizer and settings; ``planned``: the number of
    cases in the sample; ``results``: of finished cases.
    """

    about: dict[str, Any]
    results: list[CaseResult] = field(default_factory=list)


def about_audit(
    tokenizer: Tokenizer, engines: Sequence[str], settings: Settings, planned: int
) -> dict[str, Any]:
    """Return the setup of an audit. Raises: AuditError for unknown engines."""
    from stackmask import __version__

    if not engines:
        raise AuditError("no engine to audit")
    if len(set(engines)) < len(engines):
        raise AuditError("an engine is named twice")
    for name in engines:
        if name != OURS and name not in PEER_NAMES:
            factory_of(name.removeprefix(PROCESSOR))
    return {
        "stackmask": __version__,
        "engines": {name: version_of(name) for name in engines},
        "judges": judge_versions(),
        "tokenizer": tokenizer.name,
        "vocabulary": tokenizer.vocabulary.size,
        "digest": tokenizer.vocabulary.digest(),
        "settings": asdict(settings),
        "planned": planned,
    }


def load_audit(folder: Path) -> Audit:
    """Read the results of a folder; a truncated last line is ignored. Raises: AuditError without results."""
    try:
        about = json.loads((folder / ABOUT_FILE).read_text("utf-8"))
        lines = (folder / CASES_FILE).read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise AuditError(f"no audit in {folder}: {error}") from None
    audit = Audit(about)
    for line in lines:
        with suppress(ValueError):
            audit.results.append(case_result(json.loads(line)))
    return audit


def open_audit(folder: Path, about: dict[str, Any]) -> Audit:
    """Begin an audit in a folder, or resume one with the same engines, tokenizer and settings.

    Raises: AuditError if the folder contains another audit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ABOUT_FILE
    if not path.is_file():
        path.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", "utf-8")
        (folder / CASES_FILE).touch()
        return Audit(about)
    audit = load_audit(folder)
    differ = [name for name in about if name != "planned" and audit.about.get(name) != about[name]]
    if differ:
        raise AuditError(f"{folder} contains an audit with other {', '.join(differ)}: give another folder")
    audit.about = about
    path.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", "utf-8")
    whole = "".join(json.dumps(result.as_json()) + "\n" for result in audit.results)
    (folder / CASES_FILE).write_text(whole, "utf-8")  # without a line that was cut
    return audit


def run_audit(
    audit: Audit,
    cases: Sequence[Case],
    tokenizer: Tokenizer,
    folder: Path,
    settings: Settings,
    budget: float | None = None,
    progress: Callable[[int, int, CaseResult], None] | None = None,
) -> bool:
    """Audit the remaining cases; return whether all are done.

    ``budget``: seconds; a started case is completed. ``progress`` is called for each case. Each engine and
    the judge has a separate process. Raises: AuditError if the judge does not start.
    """
    done = {result.name for result in audit.results}
    todo = [case for case in cases if case.name not in done]
    if not todo:
        return True
    tokenizer.vocabulary._trie()
    workers = {
        name: Child(ENGINE, name, tokenizer, seconds=settings.call_seconds) for name in audit.about["engines"]
    }
    auditor = Auditor(tokenizer, workers, Child(JUDGE, seconds=CALL_S), settings)
    begun = time.monotonic()
    try:
        with (folder / CASES_FILE).open("a", encoding="utf-8") as lines:
            for result in _audited(auditor, todo, begun, budget):
                lines.write(json.dumps(result.as_json()) + "\n")
                lines.flush()
                audit.results.append(result)
                done.add(result.name)
                if progress is not None:
                    progress(len(done), len(cases), result)
    except WorkerFault as fault:  # of the judge, when it is to read a language again
        raise AuditError(f"the judge fails: {fault}") from None
    finally:
        auditor.close()
    return all(case.name in done for case in cases)


def _audited(
    auditor: Auditor, todo: Sequence[Case], begun: float, budget: float | None
) -> Iterator[CaseResult]:
    for case in todo:
        if budget is not None and time.monotonic() - begun > budget:
            return
        yield auditor.audit(case)
