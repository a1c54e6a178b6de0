"""``stackmask audit``: the table, the page, the figures, and what it takes up again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from stackmask.runtime.cli.app import app
from stackmask.runtime.comparison.audit import Audit
from stackmask.runtime.comparison.audited import Processor, WrongMask, words_of
from stackmask.runtime.comparison.cases import CaseResult, EngineRecord, Finding, case_result
from stackmask.runtime.comparison.report import audit_json, report_page, worst_cases
from stackmask.runtime.comparison.tokenizer import load_tokenizer

pytest.importorskip("jsonschema")

CASES = (
    {"id": "one", "schema": {"enum": ["red", "green"]}, "tests": [{"data": "green"}]},
    {"id": "two", "schema": {"type": "object", "required": ["</script>"]}, "tests": []},
    {"id": "three", "schema": {"type": 3}},
    {"id": "four", "regex": "[ab]{2}", "tests": [{"text": "ab"}]},
)


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["audit", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audit") / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    return path


@pytest.mark.campaign
def test_an_audit_finds_ends_and_goes_on(cases: Path, tmp_path: Path) -> None:
    planted = "support.planted_engines:loses_last_choice"
    asked = (cases, "--engine", "stackmask", "--engine", planted, "--out", tmp_path)
    done = call(*asked)
    assert done.exit_code == 1, done.output
    assert f"{planted}: over: value: 1 cases" in done.stdout
    assert "1 cases that no judge reads were left out" in done.stdout
    figures = json.loads((tmp_path / "report.json").read_text())
    assert (figures["done"], figures["planned"], figures["unjudged"]) == (4, 4, 1)
    assert figures["engines"]["stackmask"]["cases_with_proven_errors"] == 0
    assert figures["engines"][planted]["cases_with_proven_errors"] == 1
    page = (tmp_path / "report.html").read_text()
    assert "green" in page and "</script>&quot;" not in page.partition("<script>")[2]

    lines = (tmp_path / "cases.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cases.jsonl").write_text("".join(lines[:2]) + lines[2][:20])  # the machine went down
    again = call(*asked)
    assert again.exit_code == 1
    assert "2 cases are done already" in again.stderr
    assert len((tmp_path / "cases.jsonl").read_text().splitlines()) == 4
    assert call(*asked, "--seed", 2).exit_code == 2
    assert "with other settings" in call(*asked, "--seed", 2).stderr


def test_this_engine_alone_has_no_errors(tmp_path: Path) -> None:
    done = call('{"type": "array", "items": {"type": "boolean"}, "maxItems": 2}', "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--engine", "nothing"), "no engine 'nothing'"),
        (("--engine", "no_such_module:x"), "no engine 'no_such_module:x'"),
        (("--engine", "support.planted_engines:absent"), "absent"),
        (("--engine", "stackmask", "--engine", "stackmask"), "named twice"),
    ],
)
def test_engines_that_there_are_not_are_named(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = call("a+", "--out", tmp_path, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_masks_of_a_wrong_width_or_type_are_refused() -> None:
    assert words_of(np.full((1, 2), -1, np.int32), 33).tolist() == [2**32 - 1, 1]
    assert words_of(np.array([True, False, True]), 3).tolist() == [5]
    for mask in (
        np.zeros(1, np.int32),
        np.zeros(33, np.int64),
        np.zeros(32, np.bool_),
        np.zeros((2, 2), np.int32),
    ):
        with pytest.raises(WrongMask):
            words_of(mask, 33)


def test_a_logits_processor_is_an_engine() -> None:
    torch = pytest.importorskip("torch")
    vocabulary = load_tokenizer(None).vocabulary

    def make(kind: str, source: str, given: Any) -> Any:
        def process(ids: Any, scores: Any) -> Any:
            allowed = torch.zeros_like(scores, dtype=torch.bool)
            allowed[:, 5 + ids.shape[1]] = True
            return scores.masked_fill(~allowed, float("-inf"))

        return process

    engine = Processor(make, vocabulary)
    engine.compile("regex", "a")
    engine.begin()
    engine.accept(5)
    assert np.flatnonzero(
        np.unpackbits(words_of(engine.mask(), vocabulary.size).view(np.uint8), bitorder="little")
    ).tolist() == [6]


def test_results_are_the_same_after_a_file_and_the_page_escapes_them() -> None:
    result = CaseResult("<b>", "schema", "{}", engines={"x": EngineRecord(places=3)})
    for number in range(5):
        result.note(Finding("x", "under", "type", "p", "<i>", "\x1b[31m", f"{number}", {"j": "<u>"}, "s"))
    result.note(Finding("x", "over", "order", "p"))
    copy = case_result(json.loads(json.dumps(result.as_json())))
    assert copy == result
    assert len(copy.findings) == 3 and copy.engines["x"].counts["under: type"] == 5
    about = {
        "engines": {"x": ""},
        "planned": 1,
        "judges": {},
        "tokenizer": "t",
        "vocabulary": 3,
        "settings": {"seed": 0},
    }
    page = report_page(Audit(about, [copy]), "t")
    assert [mark for mark in ("<i>", "<u>", "\x1b") if mark in page] == []
    assert audit_json(Audit(about, [copy]))["engines"]["x"]["cases_with_proven_errors"] == 1
    assert [total for _, total in worst_cases(Audit(about, [copy]), 5)] == [6]
