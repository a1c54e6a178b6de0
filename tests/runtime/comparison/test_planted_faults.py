"""The audit finds each planted fault, calls it by its name, and finds nothing in the engine underneath."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.planted_engines import PLANTED

from stackmask.runtime.child import Child, WorkerFault
from stackmask.runtime.comparison.auditor import Auditor, Settings
from stackmask.runtime.comparison.cases import Case, CaseResult
from stackmask.runtime.comparison.judges import FORMAT
from stackmask.runtime.comparison.report import is_proven_error
from stackmask.runtime.comparison.subject import Subject
from stackmask.runtime.comparison.tokenizer import Greedy, Tokenizer
from stackmask.runtime.comparison.workers import ENGINE, EngineWorker, JudgeWorker
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

pytest.importorskip("jsonschema")

WORDS = [
    b'{"',
    b'":',
    b'": ',
    b'","',
    b"true",
    b"false",
    b"null",
    b"00",
    b"count",
    b"name",
    b"red",
    b"}]",
    b'"}',
]
VOCABULARY = Vocabulary(
    [*(bytes([b]) for b in range(256)), *WORDS, None, None], special_ids=[269, 270], stop_ids=[270]
)
TOKENS = Tokenizer("letters", VOCABULARY, Greedy(VOCABULARY))

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
        "count": {"type": "integer", "minimum": -5},
        "color": {"enum": ["red", "green"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "uniqueItems": True},
    },
    "required": ["name"],
    "additionalProperties": False,
}
TEXTS = (
    {"name": "abc", "count": -3, "color": "green", "tags": ["a", "b", "cd"]},
    {"name": "xy", "count": 400},
    {"tags": [], "color": "red", "name": "zz"},
)
CASE = Case("all", Subject("schema", json.dumps(SCHEMA)), tuple(json.dumps(text) for text in TEXTS))
SETTINGS = Settings(seed=5, mutants=8, samples=2, seconds=60)


class Here:
    """A worker in this process."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker

    def ask(self, call: str, *arguments: Any) -> Any:
        try:
            return getattr(self.worker, call)(*arguments)
        except Exception as error:  # noqa: BLE001
            raise WorkerFault("raised", type(error).__name__, str(error)) from None

    def end(self) -> None:
        pass


def audited(name: str, settings: Settings = SETTINGS) -> CaseResult:
    engines = {each: Here(EngineWorker(each, TOKENS)) for each in ("stackmask", name)}
    return Auditor(TOKENS, engines, Here(JudgeWorker()), settings).audit(CASE)


def test_there_are_twenty_at_least() -> None:
    assert len(PLANTED) >= 20


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    result = audited(f"support.planted_engines:{name}")
    found = result.engines[f"support.planted_engines:{name}"].counts
    assert PLANTED[name][0] in found, found
    # that it writes an integer as digits, and not as 1.0, is a habit
    assert not any(map(is_proven_error, result.engines["stackmask"].counts))
    for finding in result.findings:
        assert finding.kind in ("fault", "undecided") or finding.proof


def test_formats_that_are_not_enforced_are_decided_and_no_error() -> None:
    schema = {"type": "string", "format": "ipv4"}
    case = Case("format", Subject("schema", json.dumps(schema)), ('"1.2.3.4"', '"nowhere"'))
    name = "support.planted_engines:no_formats"
    engines = {each: Here(EngineWorker(each, TOKENS)) for each in ("stackmask", name)}
    result = Auditor(TOKENS, engines, Here(JudgeWorker()), SETTINGS).audit(case)
    record = result.engines[name]
    assert record.counts[f"under: {FORMAT}"] > 1
    assert record.judged == record.decided > 0
    assert not any(map(is_proven_error, record.counts))
    assert not result.engines["stackmask"].counts


@pytest.mark.campaign
def test_an_engine_that_hangs_is_named_and_the_audit_goes_on() -> None:
    name = "support.planted_engines:hangs"
    engines = {
        "stackmask": Here(EngineWorker("stackmask", TOKENS)),
        name: Child(ENGINE, name, TOKENS, seconds=1.0),
    }
    auditor = Auditor(TOKENS, engines, Here(JudgeWorker()), SETTINGS)
    try:
        result = auditor.audit(CASE)
        assert result.engines[name].counts["fault: hung"] == 1
        assert result.engines["stackmask"].places > 100
        assert auditor.audit(CASE).engines[name].counts["fault: hung"] == 1  # it is started again
    finally:
        auditor.close()
