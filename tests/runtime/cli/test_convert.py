"""``stackmask convert``."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.cli.app import app

LARK = """\
// Orders
%import common (INT, WS_INLINE)  // of Lark
%ignore WS_INLINE

?start: order ("," order)*  // one or more
# what there is
order: INT "x" item -> line
     | _list{item, ";"}   // bare
     | [NOTE]
item.2: "tea"i | "milk"i
NOTE: /\\((?:a|ab)\\)/
_list{x, s}: x (s x)~1..2
"""
EBNF = """\
// Orders
// of Lark
%skip WS_INLINE

root  ::= start
start ::= order ("," order)*  // one or more
# what there is
order      ::= INT "x" item
             | _list-item  // bare
             | NOTE?
item       ::= "tea"i | MILK
NOTE       ::= "(a" (")" | "b)")
_list-item ::= item (";" item){1,2}

WS_INLINE ::= /[ \\t]+/
INT       ::= DIGIT+
DIGIT     ::= [0-9]
MILK      ::= [Mm] [Ii\u0130\u0131] [Ll] [Kk\u212a]
"""


def run(*arguments: str | Path, text: str | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["convert", *map(str, arguments)], input=text, env={"COLUMNS": "200"})
    return done.exit_code, done.stdout, done.stderr


def test_a_lark_grammar(tmp_path: Path) -> None:
    file, made = tmp_path / "orders.lark", tmp_path / "orders.ebnf"
    file.write_text(LARK, encoding="utf-8")
    status, shown, notes = run(file)
    assert (status, shown) == (0, EBNF)
    assert notes.endswith(
        "orders.lark:10:1: `item.2`: a priority chooses among readings of a text, and changes no text\n"
    )
    assert run(file, "-o", made)[:2] == (0, "")
    assert made.read_text(encoding="utf-8") == EBNF
    grammar, lark = Grammar.from_file(made), Grammar.from_file(file)
    for text in ("2 x tea", "2x m\u0130lK , 1 xTEA", "tea;tea; TEA", "(a)", "", "(ab)", "tea", "2 0xtea"):
        assert grammar.accepts(text) == lark.accepts(text), text


def test_what_cannot_be_converted_is_named(tmp_path: Path) -> None:
    python = "%declare _INDENT\nstart: _INDENT NAME\nNAME: /[a-z]+/\n"
    status, shown, notes = run("-", text=python)
    assert (status, shown) == (2, "")
    assert "<stdin>:1:10" in notes
    status, shown, notes = run("-", "--relax", text=python)
    assert (status, Grammar.from_ebnf(shown).accepts("ab")) == (0, True)
    assert "relaxed: <stdin>:1:10: `%declare _INDENT`" in notes
    # a part of another terminal that is none itself, and a rule without an end
    text = 'start: S\nS: /"/ INNER /"/\nINNER: /.*?/ /(?<!\\\\)(\\\\\\\\)*?/\nendless: endless "a"\n'
    status, shown, notes = run("-", text=text)
    assert status == 0
    assert shown == 'root  ::= start\nstart ::= S\nS     ::= "\\"" ([^\\n"\\\\] | "\\\\" [^\\n])* "\\""\n'
    assert "left out: <stdin>:3:1: `INNER`: nothing leads to it" in notes
    assert "left out: <stdin>:4:1: `endless`: nothing leads to it" in notes
    assert run("-", text="start: @other\n")[0] == 2
    assert run("-", text='x = "a" ;')[0] == 2
    assert run(tmp_path / "none.lark")[0] == 2


def test_parts(tmp_path: Path) -> None:
    text = 'start: %json {"type": "integer"} | %regex {"substring_words": "a \\"b\\""}\n%ignore " "\n'
    status, shown, _ = run("-", text=text)
    assert status == 0
    assert 'start ::= %json {"type": "integer"} | Substring("a", " ", "\\"", "b", "\\"")' in shown
    assert Grammar.from_ebnf(shown).accepts(' "b" ')


def test_gbnf(tmp_path: Path) -> None:
    file = tmp_path / "a.gbnf"
    file.write_text('# words\nroot::="a"  ws\nws ::= | " "', encoding="utf-8")
    assert run(file) == (0, '# words\nroot ::= "a" ws\nws   ::= | " "\n', "")
    status, _, notes = run(file, "--start", "ws")
    assert (status, "is not a grammar of Lark: leave out --start" in notes) == (2, True)
    assert run("-", text='root ::= "a" other')[0] == 2
