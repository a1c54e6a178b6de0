"""Texts of an audit: cases from files, mutants, and other ways to write a value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.pages import run_page

from stackmask.runtime.comparison.auditor import declared_order, mutants, same_value, target, ways_to_write
from stackmask.runtime.comparison.cases import AuditError, read_cases, sample
from stackmask.runtime.comparison.subject import Subject
from stackmask.runtime.comparison.tokenizer import load_tokenizer
from stackmask.runtime.comparison.workers import EngineWorker

SCHEMA: dict[str, Any] = {
    "$defs": {"p": {"properties": {"x": {}, "y": {}}}},
    "properties": {"b": {"$ref": "#/$defs/p"}, "a": {"items": {"$ref": "#/$defs/p"}}},
    "allOf": [{"properties": {"c": {}}}],
}


def test_properties_come_in_declared_order() -> None:
    value = {"z": 1, "c": 2, "a": [{"y": 1, "x": 2}], "b": {"y": 1, "x": 2}}
    found = json.dumps(declared_order(value, SCHEMA))
    assert found == '{"b": {"x": 2, "y": 1}, "a": [{"x": 2, "y": 1}], "c": 2, "z": 1}'


def test_a_schema_that_refers_to_itself_is_followed_as_deep_as_the_value() -> None:
    schema = {"properties": {"n": {"$ref": "#"}, "m": {}}, "anyOf": [{"$ref": "#"}]}
    assert json.dumps(declared_order({"m": 1, "n": {"m": 1, "n": {}}}, schema)) == (
        '{"n": {"n": {}, "m": 1}, "m": 1}'
    )
    ordered = declared_order({"o": 1, "r": 1, "d": 1}, {"properties": {"d": {}}, "required": ["r"]})
    assert list(ordered) == ["d", "r", "o"]
    assert target("#/properties/n", schema) == {"$ref": "#"}
    assert target("#/nowhere/0", schema) is None


def test_the_least_change_comes_first() -> None:
    assert [kind for kind, _ in ways_to_write('{"c" :1}', SCHEMA)] == ["blanks", "blanks"]
    assert ways_to_write('{"\\u0063":1.0}', SCHEMA)[0] == ("spelling", '{"c": 1}')
    kinds = [kind for kind, _ in ways_to_write('{"a": "é", "b": 1}', SCHEMA)]
    assert kinds == ["blanks", "spelling", "spelling", *["order"] * 4]
    assert ways_to_write("{", SCHEMA) == []
    assert ("spelling", '"é\\u007f"') in ways_to_write('"é\x7f"', SCHEMA)


def test_the_same_value_in_another_order() -> None:
    assert same_value('{"a": 1, "b": [2]}', '{"b":[2],"a":1}')
    assert not same_value("[1]", "[true]")
    assert not same_value("[1, 2]", "[2, 1]")
    assert not same_value("[", "[")


def test_mutants_are_the_same_for_the_same_seed_and_differ_from_the_text() -> None:
    text = '{"a": [1, 2], "b": "x"}'
    made = mutants(text, 12, 3, is_json=True)
    assert made == mutants(text, 12, 3, is_json=True) != mutants(text, 12, 4, is_json=True)
    assert text not in made and len(made) == len(set(made)) == 12
    assert len(mutants("", 2, 0, is_json=False)) <= 2


def test_a_shortest_end_is_taken_with_other_digits_too() -> None:
    worker = EngineWorker("stackmask", load_tokenizer(None))
    date = {"type": "string", "format": "date"}
    schema = {"type": "object", "properties": {"at": date}, "required": ["at"]}
    assert worker.compile(Subject("schema", json.dumps(schema))) is None
    closed = [worker.close([], seed, 0, vary) for seed, vary in ((0, False), (1, True), (2, True))]
    texts = [worker.walker.vocabulary.decode(each.ids) for each in closed]
    assert [each.ending for each in closed] == ["ended"] * 3
    assert len(set(texts)) == 3, texts
    assert len({len(text) for text in texts}) == 1, texts


def test_cases_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    lines: list[Any] = [
        {"id": "s", "schema": {"type": "integer"}, "tests": [{"data": 1, "valid": True}, {"data": 1}]},
        {"regex": "a+", "tests": [{"text": "aa"}]},
        {"id": "q", "sql": "CREATE TABLE t (a INT)"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = list(read_cases(str(path)))
    assert [(case.name, case.language.kind, case.texts) for case in found] == [
        ("s", "schema", ("1",)),
        ("2", "regex", ("aa",)),
        ("q", "sql", ()),
    ]
    assert sample(found, 2, 1) == sample(found[::-1], 2, 1)
    assert sorted(case.name for case in sample(found, 0, 1)) == ["2", "q", "s"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: no case"),
        ("{}", "it has none of schema"),
        ('{"regex": 1}', "regex is not text"),
        ("[]", "no case"),
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(line)
    with pytest.raises(AuditError, match=message):
        list(read_cases(str(path)))


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": 1, "regex": "a"}\n{"id": "1", "regex": "b"}\n')
    with pytest.raises(AuditError, match="line 2: a second case '1'"):
        list(read_cases(str(path)))
    with pytest.raises(AuditError, match="cannot read"):
        list(read_cases(str(tmp_path / "none.jsonl")))


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("docs/audit.md")
    assert capsys.readouterr().out == "[True, False, True]\n"
