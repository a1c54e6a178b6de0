"""`%declare _INDENT _DEDENT`: blocks by their indentation, as Lark's own indenter makes them."""

from __future__ import annotations

import random
from itertools import product
from typing import ClassVar

import lark
import pytest
from lark.indenter import Indenter

import stackmask as sm

# where the lexer of Lark has nothing to choose, so that both have the same texts
TEXT = r"""
start: (_NEWLINE | stmt)*
stmt: simple | "?" NAME ":" suite [ "!" ":" suite ]
simple: NAME "=" expr (";" expr)* [";"] _NEWLINE
suite: simple | _NEWLINE _INDENT stmt+ _DEDENT
expr: NAME | LPAR [expr ("," expr)*] ")"
NAME: /[a-z]+/
LPAR: "("
_NEWLINE: ( /\r?\n[\t ]*/ | /#[^\n]*/ )+
%ignore /[\t ]+/
%declare _INDENT _DEDENT
"""
GOOD = [
    "a = b\n",
    "?a:\n  b = c\n",
    "?a:\n  b = c\n  ?d:\n      e = f\n  g = h\ni = j\n",
    "?a: b = c\n!: d = e; f;\n",
    "a = (b,\n   c)\nd = e\n",
    "?a:\n  b = (c,\nd)\n  e = f\n!:\n f = g\n",
    "\n\n# x\na = b # y\n\n  \nc = d\n",
    "?a:\n\tb = c\n\n\td = e\n",
    "?a:\n  # c\n  b = c\n# x\n  d = e\n",
    "?a:\n  ?b:\n    c = d\ne = f\n",
    "?a:\n  ?b:\n   ?c:\n      d = e\n   f = g\n",
]
PIECES = (
    "a",
    "b",
    "=",
    ":",
    "?",
    "(",
    ")",
    ",",
    ";",
    "\n",
    "\n  ",
    "\n    ",
    "\n ",
    "  ",
    "# c\n",
    "\n\n",
    "!:",
)


class Blocks(Indenter):
    NL_type = "_NEWLINE"
    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR"]
    CLOSE_PAREN_types: ClassVar[list[str]] = ["RPAR"]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8


@pytest.fixture(scope="module")
def grammar() -> sm.Grammar:
    return sm.Grammar.from_lark(TEXT)


def test_texts_as_lark_reads_them(grammar: sm.Grammar) -> None:
    parser = lark.Lark(TEXT, parser="lalr", postlex=Blocks())

    def judge(text: str) -> bool:
        try:
            parser.parse(text)
        except lark.exceptions.LarkError:
            return False
        return True

    rng = random.Random(3)
    verdicts = {text: judge(text) for text in GOOD}
    while len(verdicts) < 1_500:
        letters = list(rng.choice(GOOD))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(letters) + 1)
            letters[at : at + rng.randint(0, 1)] = [rng.choice(PIECES)] * rng.randint(0, 1)
        text = "".join(letters)
        if not text.endswith((" ", "\t")):  # which may not end a text here
            verdicts[text] = judge(text)
    assert all(verdicts[text] for text in GOOD)
    assert sum(verdicts.values()) > 200
    for text, is_in in verdicts.items():
        assert grammar.accepts(text) == is_in, text


def test_the_report_says_what_differs(grammar: sm.Grammar) -> None:
    assert [note.what for note in grammar.report.narrowed] == ["%declare _INDENT _DEDENT"]


def test_masks_hold_the_blanks_of_the_block(grammar: sm.Grammar) -> None:
    vocabulary = sm.Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_ids=[256])
    matcher = sm.Compiler(vocabulary).compile(grammar).matcher()
    assert matcher.accept_string("?a:\n  b = c\n")
    assert not matcher.accept_string(" b")  # less than the block, and not the level before
    assert matcher.accept_string("  ")
    assert matcher.accept_string("b = c\n")


def test_an_indent_without_its_dedent_is_refused() -> None:
    text = TEXT.replace("_NEWLINE _INDENT stmt+ _DEDENT", "_NEWLINE _INDENT rest").replace("NAME:", "rest: stmt+ _DEDENT\nNAME:", 1)  # fmt: skip
    with pytest.raises(sm.GrammarError, match="`_INDENT` and `_DEDENT` are in one sequence"):
        sm.Grammar.from_lark(text)


def test_without_newlines_they_are_declared_only() -> None:
    with pytest.raises(sm.GrammarError, match="is declared, not defined"):
        sm.Grammar.from_lark('start: _INDENT "a" _DEDENT\n%declare _INDENT _DEDENT\n')


LAYOUT = "\n%declare _INDENT _DEDENT\n"
NEWLINE = "_NEWLINE: /\\n[ ]*/"
LINES = 'line: "a" _NEWLINE | "b" _NEWLINE _INDENT line+ _DEDENT\n'
SMALL: dict[str, tuple[str, str]] = {
    "two newlines": ("start: (line | _NEWLINE)*\n" + LINES, "ab\n "),
    "what is ignored is first on a line": ("start: (line | _NEWLINE)*\n" + LINES + "%ignore \"#\"\n", "ab\n #"),
    "newlines in brackets, nothing ignored": (
        'start: line+\nline: x _NEWLINE | "b" _NEWLINE _INDENT line+ _DEDENT\nx: LPAR x* ")" | "a"\nLPAR: "("\n',
        "a()\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_all_short_texts_as_lark_reads_them(name: str) -> None:
    text, letters = SMALL[name]
    text += NEWLINE + LAYOUT
    ours, parser = sm.Grammar.from_lark(text), lark.Lark(text, parser="lalr", postlex=Blocks())
    for length in range(7):
        for letter in product(letters, repeat=length):
            try:
                parser.parse("".join(letter))
                is_in = True
            except lark.exceptions.LarkError:
                is_in = False
            if letter[-1:] != (" ",):
                assert ours.accepts("".join(letter)) == is_in, letter


@pytest.mark.parametrize("attribute", ["", "[lazy]"])
def test_blocks_beside_lazy_rules(attribute: str) -> None:
    text = f'start: line*\nline: r _NEWLINE | "b" _NEWLINE _INDENT line+ _DEDENT\nr{attribute}: /[a-z]+x/\n'
    grammar = sm.Grammar.from_lark(text + NEWLINE + LAYOUT)
    assert grammar.accepts("b\n ax\n")
    assert not grammar.accepts("b\nax\n")


def test_brackets_of_several_rules_are_reported() -> None:
    text = 'start: o "a" ")" _NEWLINE _INDENT "b" _NEWLINE _DEDENT\no: "("\n' + NEWLINE + LAYOUT
    note = sm.Grammar.from_lark(text).report.narrowed[0]
    assert "the closing one is in another sequence" in note.reason


@pytest.mark.parametrize(
    "items", ['"a" ' * 5_000, '("x" _NEWLINE)? ' * 1_000, '"(" ' * 5_000, '_NEWLINE _INDENT "a" _NEWLINE _DEDENT ' * 500]
)  # fmt: skip
def test_long_sequences(items: str) -> None:
    text = f'start: {items}_NEWLINE _INDENT "b" _NEWLINE _DEDENT\n{NEWLINE}{LAYOUT}'
    assert sm.Grammar.from_lark(text).normalized


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("_NEWLINE _INDENT " * 500 + '"b" _NEWLINE ' + "_DEDENT " * 500, "more than 20 nested blocks"),
        ('("x" _NEWLINE) ~ 21 _INDENT "b" _NEWLINE _DEDENT', "repeated more than 20 times"),
        ('_NEWLINE _INDENT "b" _DEDENT', "no text has a line break before each `_DEDENT`"),
    ],
)
def test_blocks_that_are_refused(items: str, message: str) -> None:
    with pytest.raises(sm.GrammarError, match=message):
        sm.Grammar.from_lark(f"start: {items}\n{NEWLINE}{LAYOUT}")


def test_newlines_without_a_line_break_are_refused() -> None:
    text = 'start: "b" _NEWLINE _INDENT "a" _NEWLINE _DEDENT\n_NEWLINE: ";"\n'
    with pytest.raises(sm.GrammarError, match="`_NEWLINE` has no line break"):
        sm.Grammar.from_lark(text + LAYOUT)
