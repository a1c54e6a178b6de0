"""Published Lark grammars load, and accept the texts that Lark accepts."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import lark
import pytest
from oracle.random_lark import LarkJudge
from support.campaign import mostly_campaign
from support.datapack import datapack, needs_datapack

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.cli.command_convert import lark_as_ebnf

FOLDER = (datapack() or Path()) / "grammars"
FILES = sorted(p.relative_to(FOLDER).as_posix() for p in FOLDER.glob("*/*.lark"))
STARTS = {"lark/python.lark": "file_input", "lark/common.lark": "NUMBER"}
MAX_JUDGED = 25  # texts of a file: Lark takes a while


def load(name: str) -> Grammar:
    flavor = "rust" if name.startswith("llguidance/") else "python"
    return Grammar.from_lark(
        (FOLDER / name).read_text(encoding="utf-8"),
        STARTS.get(name, "start"),
        name=name,
        base=FOLDER / name.partition("/")[0],
        flavor=flavor,  # type: ignore[arg-type]
        on_unsupported="relax",
    )


def samples(name: str) -> list[tuple[str, bool]]:
    with (FOLDER / "samples.jsonl").open(encoding="utf-8") as lines:
        found = [s for s in map(json.loads, lines) if s["grammar"] == name and s["accept"] is not None]
    return [(sample["text"], sample["accept"]) for sample in found]


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@needs_datapack
def test_there_are_files() -> None:
    assert len(FILES) >= 17


@needs_datapack
@pytest.mark.parametrize("name", FILES)
def test_files(name: str) -> None:
    grammar = load(name)
    _ = grammar.normalized
    report = grammar.report
    assert report is not None
    assert all("%declare" in note.what for note in report.narrowed)  # blocks of Python
    assert not report.relaxed
    texts = samples(name)
    wrong = [text for text, accept in texts if grammar.accepts(text) != accept]
    if report.narrowed:  # the labels are of Lark without its indenter, so Python judges
        assert [text for text in wrong if not is_python(text)] == [t for t in wrong if "[ifor" in t]
        assert all(grammar.accepts(text) for text, _ in texts if text.endswith("\n") and is_python(text))
        return
    if not wrong:
        return
    # the labels are of Lark's lexer "dynamic", which takes terminals as long as they go
    judge = LarkJudge((FOLDER / name).read_text(encoding="utf-8"), STARTS.get(name, "start"))
    assert [judge.accepts(text) for text in wrong] == [grammar.accepts(text) for text in wrong]


@needs_datapack
@pytest.mark.parametrize("name", mostly_campaign(FILES, 8))
def test_converted(name: str) -> None:
    text, base, start = (
        (FOLDER / name).read_text(encoding="utf-8"),
        FOLDER / name.partition("/")[0],
        STARTS.get(name),
    )
    lark = Grammar.from_lark(text, start or "start", name=name, base=base, on_unsupported="relax")
    made = Grammar.from_ebnf(lark_as_ebnf(text, start, name=name, base=base, relax=True).text)
    if lark.report.narrowed:  # EBNF does not say where blocks begin and end
        good = [sample for sample, accepted in samples(name) if accepted]
        assert good and all(map(made.accepts, good))
        return
    for sample, _ in samples(name):
        assert made.accepts(sample) == lark.accepts(sample), sample


@needs_datapack
@pytest.mark.parametrize(
    "name", ["openai-cookbook/postgres.lark", "lark/json.lark", "lark/csv.lark", "lark/verilog.lark"]
)
def test_as_lark(name: str) -> None:
    grammar = load(name)
    judge = LarkJudge((FOLDER / name).read_text(encoding="utf-8"))
    for text, _ in samples(name)[:MAX_JUDGED]:
        assert grammar.accepts(text) == judge.accepts(text), text


@needs_datapack
def test_python_without_blocks() -> None:
    text = (FOLDER / "lark/python.lark").read_text(encoding="utf-8")
    grammar = load("lark/python.lark")
    # Lark's Earley parser has no indentation either
    judge = lark.Lark(
        text.replace("%declare _INDENT _DEDENT", '_INDENT: "\\t\\t\\t\\t\\t\\t"\n_DEDENT: "\\f\\f"'),
        start="file_input",
        parser="earley",
        lexer="dynamic_complete",
    )
    for line in (
        "x = [1, 2.5, 'a']",
        "def f(a, *b): return a if b else -1",
        "x = 01",
        "print('a\"",
        'f\'{x}\' + """a"b"""',
        '""""',
    ):
        try:
            judge.parse(line + "\n")
            verdict = True
        except lark.exceptions.UnexpectedInput:
            verdict = False
        assert grammar.accepts(line + "\n") == verdict, line
