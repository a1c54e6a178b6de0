"""Alternatives of a terminal are sorted as Lark sorts them: by widths, and by the length of Lark's regular expression."""

from __future__ import annotations

import random

import lark
import pytest
from oracle.random_lark import LarkJudge, all_texts

from stackmask.grammar.grammar import Grammar
from stackmask.grammar.lark.modules import LarkLoader, Notes
from stackmask.grammar.lark.terminals import Terminals

ATOMS = (
    '"a"',
    '"a.b"',
    '"é"i',
    r'"\n\\\""',
    '"a".."z"',
    r'"\x41".."\u00ff"',
    "/a/",
    "/(a|ab)/",
    r"/\n\x41\u0041[\\\"]/",
    r"/\.\d*/",
    "/A/i",
    "/a b+/xi",
    "/a./ss",
    "/a{2,30}/",
    "/(?=a)a/",
    "A",
    "B",
)
SIGNS = ("", "", "", "?", "*", "+", " ~ 3", " ~ 3..3", " ~ +0..12", "~1000000000")


def random_terminal(rng: random.Random, depth: int) -> str:
    options = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        items = []
        for _ in range(rng.choice((1, 1, 2))):
            item = rng.choice(ATOMS)
            if depth and rng.random() < 0.4:
                item = rng.choice(("({})", "[{}]")).format(random_terminal(rng, depth - 1))
            items.append(item + ("" if item.startswith("[") else rng.choice(SIGNS)))
        options.append(" ".join(items))
    return " | ".join(options)


@pytest.mark.campaign
def test_widths_and_lengths() -> None:
    rng = random.Random(5)
    compared = 0
    for _ in range(700):
        text = f'start: T\nT: {random_terminal(rng, 2)}\nA: "aa"i\nB: /b?/\n'
        text += f"%extend T: {random_terminal(rng, 1)}\n" if rng.random() < 0.3 else ""
        try:
            parser = lark.Lark(text, parser="earley", lexer="dynamic_complete")
        except (lark.exceptions.LarkError, AssertionError, OverflowError):
            continue  # what may be empty
        (pattern,) = (terminal.pattern for terminal in parser.terminals if terminal.name == "T")
        loader = LarkLoader()
        loader.load(text, "g", None)
        piece = Terminals(loader.entries, Notes(), "python").piece("T")
        own = piece.low, piece.high, piece.value, piece.written, piece.flags
        value, written = len(pattern.value), len(pattern.to_regexp())
        assert own == (pattern.min_width, pattern.max_width, value, written, len(pattern.flags)), text
        compared += 1
    assert compared >= 200


@pytest.mark.parametrize(
    "terminals",
    [
        "T: /a|ab/\n%extend T: /ab|a/",
        "T: /ab|a/\n%extend T: /a|ab/",
        "T: /a|ab/\n%extend T: /b/\n%extend T: /ab|a/",
        'T: "b" | /a|ab/\n%extend T: /ab|a/',
        "T: (/a|ab/) | (/ab|a/ ~ 1..1)",
        "T: (/a|ab/) | (/ab|a/ ~ 1)",
        "T: /a|ab/+ | /ab|a|b/ ~ 1",
        r"T: /a|\x61b/ | /ab|a|a/",
        "T: /a|ab/ii | /ab|a|a/",
        'T: (/(a|ab)/i ~ 1) "b"? | /(ab|a|a|abb|abbb|bab)/ "b"?',
        'T: ("a" | /ab|a/i)+ | "ab" /b|bb/ ~ 3',
    ],
)
def test_terminals(terminals: str) -> None:
    text = f"start: T\n{terminals}\n"
    grammar, judge = Grammar.from_lark(text), LarkJudge(text)
    for sample in all_texts("ab", 4):
        assert grammar.accepts(sample) == judge.accepts(sample), sample
