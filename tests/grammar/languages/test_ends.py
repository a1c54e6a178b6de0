"""The strings of an expression that begin or end with some characters are those of all its strings that do."""

from __future__ import annotations

import itertools
import re

import pytest

from stackmask.grammar import ir
from stackmask.grammar.languages.ends import Ends
from stackmask.pda.lowering.entry import regular_term
from stackmask.pda.terms.term_store import TermStore

AB = ir.CharClass(((ord("a"), ord("b")),))
MAYBE_A = ir.Repeat(ir.Literal(b"a"), 0, 1)
CASES = [
    ("[ab]{2,3}", ir.Repeat(AB, 2, 3)),
    ("[ab]{2,}", ir.Repeat(AB, 2, None)),
    ("[ab]{0,2}", ir.Repeat(AB, 0, 2)),
    ("(?:ab|ba|c){1,2}", ir.Repeat(ir.Choice(tuple(ir.Literal(t) for t in (b"ab", b"ba", b"c"))), 1, 2)),
    ("(?:a?){2,3}", ir.Repeat(MAYBE_A, 2, 3)),
    ("a?[ab]b?", ir.Sequence((MAYBE_A, AB, ir.Repeat(ir.Literal(b"b"), 0, 1)))),
]
STRINGS = ["".join(s) for n in range(6) for s in itertools.product("abc", repeat=n)]


@pytest.mark.parametrize("as_bytes", [False, True], ids=["text", "bytes"])
@pytest.mark.parametrize(("pattern", "expr"), CASES, ids=[pattern for pattern, _ in CASES])
def test_strings_are_told_apart_by_their_ends(pattern: str, expr: ir.Expr, as_bytes: bool) -> None:
    terms = TermStore()
    ends = Ends(as_bytes)
    for letter in "abc":
        ranges = ((ord(letter), ord(letter)),)
        begun, ended = (regular_term(terms, f(expr, ranges)) for f in (ends.begin, ends.end))
        for text in STRINGS:
            whole = re.fullmatch(pattern, text) is not None
            assert terms.matches(begun, text.encode()) == (whole and text.startswith(letter)), text
            assert terms.matches(ended, text.encode()) == (whole and text.endswith(letter)), text
