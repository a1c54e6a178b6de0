"""Lark comes in by files, by parts of other languages, by name, and by requests that do not say that they are Lark."""

from __future__ import annotations

from pathlib import Path

import pytest

import stackmask as sm
from stackmask.grammar.notation.loading import is_lark
from stackmask.runtime.serving.requests import Options, grammar_of


def test_files(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text('start: "x"\nword: /[a-z]+/ SEP\nSEP: ";"\n%ignore "_"\n')
    file = tmp_path / "all.LARK"
    file.write_text('start: word ~ 2\n%import .words.word\n%extend word: "!"\n')
    for grammar in (sm.Grammar.of(file), sm.Grammar.from_file(file), sm.Grammar.from_file(file, "start")):
        assert grammar.accepts("a;b;")
        assert grammar.accepts("!b;")
        assert not grammar.accepts("a;_b;")  # what another file ignores
    assert sm.Grammar.from_file(file, "word").accepts("a;")
    with pytest.raises(sm.GrammarError, match="imports itself"):
        (tmp_path / "words.lark").write_text("start: a\n%import .words.a")
        sm.Grammar.of(file)
    with pytest.raises(sm.GrammarError, match="no such grammar file"):
        sm.Grammar.from_lark("start: a\n%import .none.a", base=tmp_path)


def test_a_chain_of_imports_keeps_names_apart(tmp_path: Path) -> None:
    (tmp_path / "low.lark").write_text('item: "1" | _more\n_more: "2"\nA: "a"\n')
    (tmp_path / "mid.lark").write_text(
        'item: low_item A\n_more: "3"\n%import .low.item -> low_item\n%import .low.A\n'
    )
    text = 'start: item _more B\n_more: "4"\n%import .mid.item\n%import .low.A -> B\n%override B: "b"\n'
    grammar = sm.Grammar.from_lark(text, base=tmp_path)
    assert grammar.accepts("2a4b")
    assert not grammar.accepts("3a4b")
    assert not grammar.accepts("2b4b")


def test_parts() -> None:
    grammar = sm.Grammar.from_lark(
        'start: "[" %json {"type": "integer"} "]" order? words\n'
        "order: @order\n"
        'words: %regex {"substring_words": "the cat sat"}\n'
        '%ignore " "\n',
        grammars={"order": sm.Grammar.from_choices(["now", "later"])},
    )
    assert grammar.accepts("[ 12 ] now the cat")
    assert grammar.accepts("[0]cat sat")
    assert not grammar.accepts("[x] now")
    assert not grammar.accepts("[1] never")
    assert not grammar.accepts("[1] the sat")
    with pytest.raises(sm.GrammarError, match="did you mean `@order`"):
        sm.Grammar.from_lark("start: @ordr", grammars={"order": grammar})
    with pytest.raises(sm.GrammarError, match=r"in `%json`: .*intger"):
        sm.Grammar.from_lark('start: %json {"type": "intger"}')


def test_requests_say_by_their_look_what_they_are() -> None:
    options = Options()
    assert grammar_of("grammar", 'start: "a" B\nB: /[0-9]/', options).accepts("a1")
    assert grammar_of("grammar", 'root ::= "a: b"', options).accepts("a: b")
    assert is_lark("?start: x\nx{a, b}.2: a")
    assert is_lark("%import common.INT")
    assert not is_lark('root ::= "a"\n  b: c')
    assert not is_lark('value = "a" ;')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('root ::= "a"', "this is EBNF or GBNF.*\n(.*\n)*.*Grammar.from_ebnf"),
        ("grammar Hello;\nstart : ID ;\nID : [a-z]+ ;", "this is a grammar of ANTLR"),
        ('{"type": "object"}', "this is JSON"),
        ("grammars/x.lark", "this is a path"),
        ("[a-z]+", "this is a regular expression"),
        ('a = "b" | "c" ;', "EBNF of ISO 14977"),
    ],
)
def test_other_languages(text: str, message: str) -> None:
    with pytest.raises(sm.GrammarError, match=message):
        sm.Grammar.from_lark(text)


def test_start_rules() -> None:
    text = 'one: "1"\nstart: "s"'
    assert sm.Grammar.from_lark(text).accepts("s")
    assert sm.Grammar.from_lark(text, None).accepts("s")
    assert sm.Grammar.from_lark(text, "one").accepts("1")
    assert sm.Grammar.from_lark('%import common.INT\none: INT "!"', None).accepts("1!")
    with pytest.raises(sm.GrammarError, match="did you mean `start`"):
        sm.Grammar.from_lark(text, "strat")


def test_flavours() -> None:
    assert sm.Grammar.from_lark(r"start: /\p{Lu}+/", flavor="rust").accepts("ÄB")
    with pytest.raises(sm.StackmaskError, match="no regex flavour `perl`"):
        sm.Grammar.from_lark("start: /a/", flavor="perl")  # type: ignore[arg-type]
    with pytest.raises(sm.StackmaskError, match="`on_unsupported`"):
        sm.Grammar.from_lark('start: "a"', on_unsupported="ignore")  # type: ignore[arg-type]


def test_warnings_tell_what_is_not_used() -> None:
    text = 'start: A _two{"x", b}\nA: B "a"\nB: "b"\nb: "c"\n_two{x, y}: x y\nold: new\nnew: "n"\nC: "c"\nW: " "\n%ignore W\n'
    warnings = sm.Grammar.from_lark(text).warnings
    assert [(w.code, w.message) for w in warnings] == [
        ("G201", "rule `old` is not used"),
        ("G201", "rule `new` is not used"),
        ("G201", "terminal `C` is not used"),
    ]
    assert "<grammar>:6:1" in str(warnings)
    assert not sm.Grammar.from_lark("start: INT\n%import common.INT").warnings
    assert not sm.Grammar.from_lark('start[suffix=END]: /[ab]*/\nEND: "c"\n').warnings


def test_commands(tmp_path: Path) -> None:
    runner = pytest.importorskip("typer.testing").CliRunner()
    from stackmask.runtime.cli.app import app

    file = tmp_path / "g.lark"
    file.write_text('start: "a" B\nB: /[0-9]/\nold: "x"\n')
    done = runner.invoke(app, ["lint", str(file)])
    assert (done.exit_code, "rule `old` is not used" in done.output) == (1, True)
    done = runner.invoke(app, ["sample", str(file), "-n", "2"])
    assert done.exit_code == 0, done.output
    assert all(line.startswith("a") for line in done.output.split())
    assert runner.invoke(app, ["check", str(file), "--text", "a7"]).exit_code == 0
    assert runner.invoke(app, ["check", str(file), "--text", "b"]).exit_code == 1
