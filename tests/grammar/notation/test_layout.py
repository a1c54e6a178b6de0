"""The layout of grammar texts: what it looks like, that it means the same, and that it is its own layout."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from repository.tree import REPO
from support.campaign import mostly_campaign
from support.datapack import datapack

from stackmask.grammar.ebnf.parser import SYNTAX as EBNF
from stackmask.grammar.grammar import Grammar
from stackmask.grammar.ir.dump import dump
from stackmask.grammar.lark.parser import SYNTAX as LARK
from stackmask.grammar.notation import layout
from stackmask.grammar.notation.layout import Statement, Syntax
from stackmask.grammar.source.diagnostics import GrammarError

LARK_FILES = sorted(((datapack() or Path("/nowhere")) / "grammars").glob("*/*.lark"))
BUNDLED = sorted((REPO / "grammars").glob("*.ebnf"))
PAGE = (REPO / "docs" / "grammar.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```ebnf\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

CASES = {
    "names and alternatives": (
        'root::=a|bcd  # c\na   ::= "x"\n   |  "y"\nbcd::="z"',
        'root ::= a | bcd  # c\na    ::= "x"\n       | "y"\nbcd  ::= "z"\n',
    ),
    "groups are apart where a blank line or a comment is": (
        'a::="x"\n\n\n\nlong::="y"\n# own\nb::="z"\n(* over\n   lines *)\nccc::=a long b',
        'a ::= "x"\n\nlong ::= "y"\n# own\nb ::= "z"\n(* over\n   lines *)\nccc ::= a long b\n',
    ),
    "blanks": (
        'root::=( "a"i? [b] * (c|.) +){2,3}!>>[x] ( ! c & /x y/i ) @push( c )@top <|t|>\nc::="c"',
        'root ::= ("a"i? [b]* (c | .)+){2,3} !>> [x] (!c & /x y/i) @push(c) @top <|t|>\nc    ::= "c"\n',
    ),
    "directives": (
        '%skip   [ \\t] +\n%lexical a ,b\n%import json(value,string as s)\n%stack "a"  "b"\na::=value b::=s',
        '%skip [ \\t]+\n%lexical a, b\n%import json (value, string as s)\n%stack "a" "b"\na ::= value\nb ::= s\n',
    ),
    "parts": (
        'root::=%json{"type":\n  "integer"}|%regex   /a|b/|%marker"<x>"|%choice["a"]',
        'root ::= %json {"type":\n  "integer"} | %regex /a|b/ | %marker "<x>" | %choice ["a"]\n',
    ),
    "comments inside": (
        'root # why\n ::= "a" // one\n  # two\n | (* three *) "b" # four\n# five',
        'root ::=      # why\n         "a"  // one\n         # two\n       | (* three *) "b"  # four\n# five\n',
    ),
    "comments under each other": (
        'root ::= "a" # x\nb ::= "bbb" # y\n\nc ::= "c" # z',
        'root ::= "a"    # x\nb    ::= "bbb"  # y\n\nc ::= "c"  # z\n',
    ),
    "long names": (
        "a-name-that-is-much-longer-than-others::=b|b\nb::='b'",
        "a-name-that-is-much-longer-than-others ::= b | b\nb ::= 'b'\n",
    ),
    "line ends of other systems": (
        'root ::= "a"\r\n  | b # c\r\nb ::= "b"\r\n',
        'root ::= "a"\n       | b  # c\nb    ::= "b"\n',
    ),
    "nothing": ("", ""),
    "comments alone": ("# a\n\n\n# b", "# a\n\n# b\n"),
}


def lay_out(text: str, syntax: Syntax = EBNF, **options: Any) -> str:
    return layout.lay_out(text, syntax, **options)


def read_statements(text: str, syntax: Syntax = EBNF) -> list[Statement]:
    return layout.read_statements(text, syntax)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_layout(case: tuple[str, str]) -> None:
    written, wanted = case
    assert lay_out(written) == wanted
    assert lay_out(wanted) == wanted


def test_long_rules_are_broken_between_alternatives() -> None:
    words = [f'"word{n}"' for n in range(30)]
    made = lay_out(f"root ::= {' | '.join(words)}", width=80)
    lines = made.splitlines()
    assert len(lines) > 4
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("       | ") for line in lines[1:])
    row = lay_out(f"root ::= ({' '.join(words)})* {' '.join(words)}", width=80)
    assert max(map(len, row.splitlines())) <= 80
    assert lay_out(row, width=80) == row
    assert lay_out("root ::= " + "a" * 200, width=80) == "root ::= " + "a" * 200 + "\n"


def comments(text: str, syntax: Syntax = EBNF) -> list[str]:
    return [piece.text for each in read_statements(text, syntax) for piece in each.pieces if piece.is_comment]


@pytest.mark.parametrize("file", mostly_campaign(BUNDLED, 2), ids=lambda file: file.stem)
def test_bundled_grammars_mean_the_same(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    made = lay_out(text)
    assert lay_out(made) == made
    assert comments(made) == comments(text)
    # a single character class is not broken
    rules = [line for line in made.splitlines() if " " in line.partition("::= ")[2] and "#" not in line]
    assert max(map(len, rules)) <= 110
    read = [Grammar.from_ebnf(each, None, base=file.parent) for each in (text, made)]
    assert dump(read[0].rules) == dump(read[1].rules)


def scrambled(text: str, rng: random.Random) -> Iterator[str]:
    """Yield the tokens of a text with other blanks, line breaks and comments between them."""
    for statement in read_statements(text):
        yield rng.choice(["\n", "\n\n\n", "  "]) + statement.head
        if statement.is_rule:
            yield rng.choice(["::=", "  ::=", "\n# x\n::=", " (* y *) ::="])
        for piece in statement.pieces:
            blank = rng.choice(
                [
                    " ",
                    " ",
                    "   ",
                    "\n",
                    "\n    ",
                    " # note\n",
                    "\n  # own\n  ",
                    " (* in *) ",
                    "\n(* a\n b *)\n",
                    "\t",
                ]
            )
            yield blank + piece.text
            if piece.kind == "line":
                yield "\n"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("\n")[0][:40])
def test_whatever_the_blanks_the_normal_form_is_the_same(example: str) -> None:
    wanted = Grammar.from_ebnf(example, None).normalized
    rng = random.Random(7)
    for _ in range(12):
        text = "".join(scrambled(example, rng))
        width = rng.choice([40, 60, 110])
        made = lay_out(text, width=width)
        assert lay_out(made, width=width) == made
        assert dump(Grammar.from_ebnf(made, None).normalized) == dump(wanted)
        assert comments(made) == comments(text)


def test_wrong_texts_are_refused_with_their_places() -> None:
    with pytest.raises(GrammarError, match=r"--> x\.ebnf:1:"):
        lay_out("root ::= (", name="x.ebnf")


def test_the_example_of_the_page() -> None:
    page = (REPO / "docs" / "command-line.md").read_text(encoding="utf-8")
    written, wanted = re.findall(r"^```\n(root.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert lay_out(written) == wanted


def test_many_comments_take_linear_time() -> None:
    text = 'root ::= "a"\n' + "# own\n" * 3_000 + '| "b"\n' + "# after\n" * 3_000
    made = lay_out(text)
    assert made.count("         # own\n") == 3_000
    assert made.count("\n# after") == 3_000


def test_many_parentheses_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a line may begin is asked a few times for each piece, also where it may nowhere."""
    asked = 0
    original = layout._is_place

    def counted(run: list[layout.Piece], at: int, is_free: bool) -> bool:
        nonlocal asked
        asked += 1
        return original(run, at, is_free)

    monkeypatch.setattr(layout, "_is_place", counted)
    text = "root ::= " + "(" * 3_000 + '"a"' + ")" * 3_000
    lay_out(text)
    assert asked < 8 * len(text)


def test_deep_rules_are_not_mostly_blank() -> None:
    made = lay_out("root ::= " + '("a" "bcdefgh" | ' * 90 + '"c"' + ")" * 90)
    assert max(len(line) - len(line.lstrip()) for line in made.split("\n")) < 90
    assert lay_out(made) == made


# -- Lark -----------------------------------------------------------------------------------------------------

LARK_CASES = {
    "rules and terminals": (
        'start :pair( ","  pair )* // c\n?pair.2 : NAME"="value->of\n  |  "x" ~2..5 "y"~3\nNAME:/[a-z]+/i&~ ("a"| "b")',
        'start: pair ("," pair)*  // c\n?pair.2: NAME "=" value -> of\n       | "x" ~ 2..5 "y" ~ 3\nNAME: /[a-z]+/i & ~("a" | "b")\n',
    ),
    "templates and ranges": (
        '_l{ x ,y }: x( y x)*\nstart:_l { item , "," }[ "z" ]\nitem : "a" .. "f" | "x" {2, 5}  a?\na:"a"',
        '_l{x, y}: x (y x)*\nstart: _l{item, ","} ["z"]\nitem: "a".."f" | "x"{2, 5} a?\na: "a"\n',
    ),
    "directives": (
        "%import   common  . INT->NUMBER\n%import .other(A,\n  B)\n%ignore/ +/\n%declare A   B\n%extend  X : A\n%llguidance  {}",
        "%import common.INT -> NUMBER\n%import .other (A, B)\n%ignore / +/\n%declare A B\n%extend X: A\n%llguidance {}\n",
    ),
    "parts": (
        'start:%json{"type":\n "integer"}|<|a|><[ 5 ]>@g',
        'start: %json {"type":\n "integer"} | <|a|> <[ 5 ]> @g\n',
    ),
    "comments": (
        '# one\n\n\nstart : ( "a" // two\n "b" )\n\n  # three\n  | "c" # four\n# five\n\nx:"x"',
        '# one\n\nstart: ("a"  // two\n         "b")\n       # three\n     | "c"  # four\n# five\n\nx: "x"\n',
    ),
    "grammars in the text": (
        "start:  a   %lark {\n  start:  b\n  b:'x'\n} a\na : 'c'".replace("'", '"'),
        "start: a %lark {\n  start:  b\n  b:'x'\n} a\na: 'c'\n".replace("'", '"'),
    ),
    "rules that count": (
        'start : p :: 0\np::_ : "a" p::incr([0:3])   %if and(lt([0:3],2),not(bit_set(5)))',
        'start: p::0\np::_: "a" p::incr([0:3]) %if and(lt([0:3], 2), not(bit_set(5)))\n',
    ),
    "lines that go on": ('start: \\\n "a" \\\n "b"\n', 'start: "a" "b"\n'),
    "a regex with lines": ("start: /a  # x\n  b/x   C\nC:/c/", "start: /a  # x\n  b/x C\nC: /c/\n"),
}


@pytest.mark.parametrize("case", LARK_CASES.values(), ids=LARK_CASES)
def test_layout_of_lark(case: tuple[str, str]) -> None:
    written, wanted = case
    assert lay_out(written, LARK) == wanted
    assert lay_out(wanted, LARK) == wanted


@pytest.mark.parametrize(
    "file", mostly_campaign(LARK_FILES, 4), ids=lambda file: f"{file.parent.name}-{file.stem}"
)
@pytest.mark.parametrize("width", [60, 110])
def test_lark_files_mean_the_same(file: Path, width: int) -> None:
    text = file.read_text(encoding="utf-8")
    made = lay_out(text, LARK, width=width)
    assert lay_out(made, LARK, width=width) == made
    assert comments(made, LARK) == comments(text, LARK)
    read = [Grammar.from_lark(each, None, base=file.parent, on_unsupported="relax") for each in (text, made)]
    assert dump(read[0].rules) == dump(read[1].rules)


def test_long_rules_of_lark_are_broken_where_lark_allows_it() -> None:
    words = " ".join(f'"word{n}"' for n in range(20))
    made = lay_out(f"start: ({words} | {words}) {words} | {words}", LARK, width=80)
    assert made.count("\n") == 3
    assert all(line.lstrip().startswith("|") for line in made.splitlines()[1:])


def test_wrong_texts_of_lark_are_refused_with_their_places() -> None:
    with pytest.raises(GrammarError, match=r"--> x\.lark:1:8"):
        lay_out("start: (", LARK, name="x.lark")
