"""What names a grammar on the command line: files, bundled ones, schemas, patterns and types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import stackmask as sm
from stackmask.runtime.cli.app import app

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a schema, a grammar and a module."""
    (tmp_path / "order.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "json").write_text('root ::= "mine"\n')
    (tmp_path / "shapes_of_test.py").write_text(
        "from dataclasses import dataclass\n\n@dataclass\nclass Point:\n    x: int\n"
    )
    (tmp_path / "broken_of_test.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("order.json", '{"n": 1}', '{"n": "1"}'),
        (json.dumps(SCHEMA), '{"n": 1}', "{}"),
        ("/[ab]+c/", "abc", "abd"),
        ("shapes_of_test:Point", '{"x": 3}', '{"x": 3.5}'),
        ("json", "mine", "[]"),  # a file goes before a bundled grammar
        ("csv", "a,b\r\n", '"'),
    ],
)
def test_check_takes_grammars_schemas_patterns_and_types(
    folder: Path, name: str, right: str, wrong: str
) -> None:
    assert call("check", name, "--text", right).output == "accepted\n"
    assert call("check", name, "--text", wrong).exit_code == 1
    drawn = call("sample", name, "--seed", "3")
    assert drawn.exit_code == 0
    assert call("check", name, "--text", drawn.stdout[:-1]).exit_code == 0 or name == "csv"


def test_a_pattern_is_one_whatever_it_looks_like(folder: Path) -> None:
    assert call("check", "json", "--regex", "--text", "json").exit_code == 0
    assert call("check", "/a/", "--regex", "--text", "/a/").exit_code == 0


def test_the_text_of_a_grammar_is_one(folder: Path) -> None:
    text = 'item ::= "a" rest\nrest ::= "b"'
    assert call("check", text, "--text", "ab").output == "accepted\n"
    assert call("check", text, "--start", "rest", "--text", "b").output == "accepted\n"
    (folder / "a ::= b").write_text('root ::= "c"')
    assert call("check", "a ::= b", "--text", "c").output == "accepted\n"


def test_profiles_are_those_of_grammars() -> None:
    name, text = '{"const": "a"}', '"\\u0061"'
    assert call("check", name, "--text", text).exit_code == 1
    assert call("check", name, "--text", text, "--profile", "exact").exit_code == 0


def test_lint_shows_warnings(folder: Path) -> None:
    (folder / "spare.ebnf").write_text('root ::= "a"\nspare ::= "b"\n')
    (folder / "wrong.ebnf").write_text("root ::= b\n")
    warned = call("lint", "json", "spare.ebnf")
    assert (warned.exit_code, warned.stderr) == (1, "")
    assert warned.stdout.startswith("warning[G201]: rule `spare` is not used\n --> spare.ebnf:2:1\n")
    assert warned.stdout.endswith("\n1 warning\n")
    assert (call("lint", "json", "csv").exit_code, call("lint", "json").stdout) == (0, "0 warnings\n")
    refused = call("lint", "spare.ebnf", "wrong.ebnf")
    assert refused.exit_code == 2 and "error[G003]" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing_of_test:Point"], "no module nothing_of_test"),
        (["shapes_of_test:Line"], "shapes_of_test has no Line; its classes: Point"),
        (["broken_of_test:Line"], "broken_of_test cannot be imported: ZeroDivisionError"),
        (["order.json", "--start", "n"], "--start names a rule of a grammar, and this is a JSON Schema"),
        (["/a/", "--start", "n"], "--start names a rule of a grammar, and this is a regular expression"),
        (["shapes_of_test:Point", "--start", "n"], "this is a type"),
        (['{"type":'], "<schema> is not JSON"),
        (["none.json"], "no such grammar file: none.json"),
        (["[a-z]+.ebnf"], "no such grammar file: [a-z]+.ebnf"),
        (["(a|b)"], "it looks like a regular expression: write '/(a|b)/', or add --regex"),
        (["it's|so"], 'write "/it\'s|so/"'),
        (["shapes_of_test.Point"], "a type is named with a colon: shapes_of_test:Point"),
        (["x" * 5000], "cannot read the grammar file"),
    ],
)
def test_what_leads_to_no_grammar(folder: Path, arguments: list[str], message: str) -> None:
    result = call("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr and len(result.stderr.strip().splitlines()) == 1


def test_samples_are_repeatable_and_as_many_as_asked() -> None:
    first = call("sample", "/[a-z]{8}/", "-n", "3", "--seed", "5")
    assert first.output == call("sample", "/[a-z]{8}/", "-n", "3", "--seed", "5").output
    assert len(set(first.stdout.split())) == 3


def test_a_sample_is_that_of_the_grammar() -> None:
    wanted = sm.Grammar.of(SCHEMA).sample(3, seed=7)
    assert call("sample", json.dumps(SCHEMA), "-n", "3", "--seed", "7").stdout == "\n".join(wanted) + "\n"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('{"n": 1.0}', '`profile="exact"` (--profile exact) takes it'),
        ('{ "n" : 1 }', '`profile="exact"` (--profile exact) takes it'),
        ('{"m": 1, "n": 2}', '`property_order="any"` takes it'),
        ('{"m": 1, "n" : 2}', 'with `property_order="any"` takes it'),
        ('{"n": "x"}', ""),
        ('{"n": 1', ""),
    ],
)
def test_valid_json_that_is_refused_is_called_valid(text: str, note: str) -> None:
    result = call(
        "check", json.dumps({**SCHEMA, "additionalProperties": {"type": "integer"}}), "--text", text
    )
    if "m" in text:
        ordered = {"n": {"type": "integer"}, "m": {"type": "integer"}}
        result = call("check", json.dumps({**SCHEMA, "properties": ordered}), "--text", text)
    assert result.exit_code == 1 and result.stderr.startswith("rejected: ")
    assert (note in result.stderr) if note else ("note: " not in result.stderr)


def test_a_word_that_an_option_does_not_take() -> None:
    for arguments in (["sql", "q", "--format", "xlsx"], ["check", "json", "--profile", "xlsx"]):
        result = call(*arguments)
        assert result.exit_code == 2
        assert "'xlsx' is not one of" in result.stderr and "Value error" not in result.stderr


def test_check_counts_what_somebody_wrote_and_names_warnings(folder: Path) -> None:
    (folder / "spare.ebnf").write_text('%skip " "\nroot ::= "a" "b"\nspare ::= "b"\n')
    checked = call("check", "spare.ebnf")
    assert (checked.exit_code, checked.stdout) == (0, "ok: 2 rules, start root\n")
    assert checked.stderr == "note: 1 warning, which stackmask lint shows\n"
    unknown = call("check", '{"type": "object", "propertys": {}, "requird": []}')
    assert unknown.exit_code == 0 and unknown.stderr.startswith("note: 2 warnings")
    assert call("check", "sqlite").stderr == call("check", "json").stderr == ""
