"""Bundled grammars are loaded as they were made ready, and made from their sources where that does not fit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from repository.tree import REPO

import stackmask as sm
from stackmask.grammar import ready
from stackmask.grammar.ebnf.modules import load_rules
from stackmask.grammar.source import files
from stackmask.grammar.source.files import bundled_names, read_text
from training.ready_grammars import ready_text, sources

NAMES = bundled_names()
VOCABULARY = sm.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], stop_ids=[256])


def from_source(name: str, start: str | None = None) -> sm.Grammar:
    path = files.find_bundled(name)
    return sm.Grammar.from_ebnf(
        read_text(path), start, name=f"stackmask/grammars/{path.name}", base=path.parent
    )


@pytest.mark.parametrize(("path", "name"), list(sources()), ids=lambda each: Path(each).stem)
def test_each_file_is_what_its_source_makes(path: Path, name: str) -> None:
    found = path.with_suffix(ready.SUFFIX)
    assert found.exists() and found.read_text("utf-8") == ready_text(path, name), "run `./dev grammars`"
    assert ready.find_ready(path, name) is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_ready_grammar_is_the_one_of_its_source(name: str) -> None:
    found, source = sm.Grammar.bundled(name), from_source(name)
    assert found._rules is None, "nothing was read"
    assert found.normalized == source.normalized
    assert found.rules == source.rules
    assert found.rules.sources == source.rules.sources
    spans = [{name: rule.span for name, rule in each.rules.rules.items()} for each in (found, source)]
    assert spans[0] == spans[1]
    assert found.dump() == source.dump()
    assert str(found.warnings) == str(source.warnings)
    assert repr(found) == repr(source)
    assert found._repr_html_() == source._repr_html_()
    assert found.sample(2, seed=1) == source.sample(2, seed=1)


def test_another_start_rule_is_read_from_the_source() -> None:
    found = sm.Grammar.bundled("json", start="object")
    assert found.rules == from_source("json", "object").rules
    assert found.accepts('{"a": 1}') and not found.accepts("1")


@pytest.mark.parametrize("start", ["root", "limited"])
@pytest.mark.parametrize(
    ("path", "name"), [pair for pair in sources() if pair[0].stem.endswith(("sqlite", "postgres"))], ids=str
)
def test_sql_begins_with_either_rule(path: Path, name: str, start: str) -> None:
    read = load_rules(read_text(path), name=name, base=path.parent, start=start).rules
    found = ready.written_rules(path, name, start)
    assert found == read
    assert list(found.rules) == list(read.rules)
    assert [rule.span for rule in found.rules.values()] == [rule.span for rule in read.rules.values()]


def test_a_ready_grammar_is_combined_with_others() -> None:
    both = sm.Grammar.bundled("json") | sm.Grammar.from_ebnf('root ::= "none"')
    assert both.accepts("none") and both.accepts("[1]") and not both.accepts("nones")
    assert sm.Grammar.bundled("json").repeat(2, 2).accepts("[][]")


def test_compiling_it_reads_no_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("stackmask.grammar.ebnf.modules.parse_module", fail)
    monkeypatch.setattr("stackmask.grammar.normalize._normalized", fail)
    compiler = sm.Compiler(VOCABULARY)
    for name in NAMES:
        compiler.compile(sm.Grammar.bundled(name)).matcher()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the folder of bundled grammars, which takes its place."""
    made = tmp_path / "grammars"
    shutil.copytree(REPO / "grammars", made)
    for module in (files, ready):
        monkeypatch.setattr(module, "bundled_folder", lambda: made)
    return made


def test_an_edited_source_is_what_counts(folder: Path) -> None:
    source = folder / "arithmetic.ebnf"
    assert sm.Grammar.bundled("arithmetic")._ready is not None
    text = source.read_text()
    assert '"+"' in text
    source.write_text(text.replace('"+"', '"plus"'))
    edited = sm.Grammar.bundled("arithmetic")
    assert edited._ready is None
    assert edited.accepts("1plus2") and not edited.accepts("1+2")


def test_an_edited_import_is_what_counts(folder: Path) -> None:
    scoped = next(path for path, _ in sources() if path.stem == "scoped_sqlite")
    assert ready.find_ready(scoped, "scoped") is not None
    (folder / "sqlite.ebnf").write_text((folder / "sqlite.ebnf").read_text() + "\n# edited\n")
    assert ready.find_ready(scoped, "scoped") is None


@pytest.mark.parametrize("kind", ["absent", "empty", "cut", "changed", "binary", "folder", "other format"])
def test_a_file_that_is_damaged_is_passed_over(
    folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "json.ready"
    data = file.read_bytes()
    file.unlink()
    if kind == "folder":
        file.mkdir()
    elif kind == "other format":
        file.write_bytes(data)
        monkeypatch.setattr(ready, "FORMAT", "stackmask grammar 0")
    elif kind != "absent":
        at = data.index(b"true")
        damaged = {"empty": b"", "cut": data[:-40], "binary": b"\xff\xfe" + data}
        file.write_bytes(damaged.get(kind, data[:at] + b"nulL" + data[at + 4 :]))
    found = sm.Grammar.bundled("json")
    assert found._ready is None
    assert found.rules == from_source("json").rules
    assert found.accepts("[true]")
