"""What is imported under two names, declared, or changed by the file that imports it."""

from __future__ import annotations

from pathlib import Path

import lark
import pytest

import stackmask as sm


def accepted(text: str, *samples: str) -> list[bool]:
    grammar = sm.Grammar.from_lark(text)
    return [grammar.accepts(sample) for sample in samples]


def test_one_thing_under_two_names(tmp_path: Path) -> None:
    text = "start: A B\n%import common.DIGIT -> A\n%import common.DIGIT -> B\n"
    assert accepted(text, "12", "1", "1b") == [True, False, False]
    assert accepted(text + '%extend B: "b"', "12", "1b", "b1") == [True, True, False]
    assert accepted("start: WS A\n%import common (WS, WS)\n%import common.WS -> A\n", "  ", " ") == [
        True,
        False,
    ]
    (tmp_path / "f.lark").write_text('list{x, y}: x (y x)*\na: "a" b?\nb: "b" a\n')
    text = 'start: l{a, ","} m{b, ";"}\n%import .f.list -> l\n%import .f.list -> m\n%import .f (a, b)\n'
    grammar = sm.Grammar.from_lark(text, base=tmp_path)
    assert grammar.accepts("a,abababa;ba")
    assert not grammar.accepts("a,aba,ba")


def test_what_is_declared_may_be_overridden() -> None:
    for text in (
        'start: A X\nA: "b" X\n%declare X\n%override X: "x"',
        'start: A X\nA: "b" X\n%override X: "x"\n%declare X',
    ):
        assert accepted(text, "bxx", "bx") == [True, False]


def test_declared_terminals_in_terminals() -> None:
    text = 'start: A | "b"\nA: "a" X\n%declare X\n'
    with pytest.raises(sm.GrammarError, match="`X` is declared, not defined"):
        sm.Grammar.from_lark(text)
    grammar = sm.Grammar.from_lark(text, on_unsupported="relax")
    assert "%declare X" in str(grammar.report)
    assert grammar.accepts("a")
    assert accepted('start: "b"\nA: "a" X\n%declare X\n', "b", "a") == [True, False]  # nothing leads to it


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ('start: r\n%import .f.r\n%import .f.B\n%extend B: "c"', ["bbx", "cbx", "bcx", "ccx"]),
        ('start: r\n%import .f.r\n%import .f.v\n%override v: "c"', ["bbxc", "bbxv"]),
        ('start: A | _L\n%import .f.A\n_L: "l"', ["bx", "l", "bl"]),
        ("start: u\n%import .f.u -> u", ["lv", "lvlv"]),
        ('start: A B\nB: "y"\n%import .f.A', ["bxy", "yxy"]),
    ],
)
def test_as_lark(text: str, samples: list[str], tmp_path: Path) -> None:
    (tmp_path / "f.lark").write_text('A: B "x"\nB: "b"\nr: B A v?\nu: _L v\nv: "v"\n_L: "l"\n')
    file = tmp_path / "main.lark"
    file.write_text(text)
    grammar = sm.Grammar.from_file(file)
    judge = lark.Lark.open(str(file), parser="earley", lexer="dynamic_complete")
    for sample in samples:
        try:
            judge.parse(sample)
            verdict = True
        except lark.exceptions.UnexpectedInput:
            verdict = False
        assert grammar.accepts(sample) == verdict, sample


def test_override_reaches_terminals(tmp_path: Path) -> None:
    # as Lark's documentation says; Lark itself leaves the terminals of an imported file as they were
    (tmp_path / "f.lark").write_text('A: B "x"\nB: "b"\n')
    text = 'start: A\n%import .f (A, B)\n%override B: "c"\n'
    grammar = sm.Grammar.from_lark(text, base=tmp_path)
    assert [grammar.accepts(sample) for sample in ("cx", "bx")] == [True, False]


def test_an_import_may_be_written_twice() -> None:
    text = "start: INT N\n%import common.INT\n%import common.INT -> N\n%import common.INT -> N\n"
    assert sm.Grammar.from_lark(text).accepts("12")
