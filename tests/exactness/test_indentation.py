"""`@new`, `@level` and `@deeper`: masks against an oracle to which they are callables, and widths against Python's rule."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from oracle.earley import Recognizer
from oracle.masks import advance_token
from oracle.regular import Dfa, compile_dfa
from oracle.stacked import called, width

import stackmask
from exactness.walks import check_place
from stackmask.grammar.ir.stacked import deeper, level

BLOCKS = r"""
%stack " "
root  ::= outer ("\n" outer)*
outer ::= "x" | "if" @scope("\n" @push([ \t]+) line ("\n" @level line)*)
line  ::= "x" | "if" @scope("\n" @push(@deeper) line ("\n" @level line)*)
"""
ENDS = r"""
%stack " "
root  ::= outer+
outer ::= "x" end | "if" @scope("\n" @push([ \t]+) line (@level line)*)
line  ::= "x" end | "if" @scope("\n" @push(@deeper) line (@level line)*)
end   ::= "" !>> [a-z] "\n" | "" !>> [^]
"""
NAMES = r"""
root   ::= lambda (";" lambda)*
lambda ::= @scope(@push("(") (plain ("," plain)*)? ")") "x"?
plain  ::= @new(NAME) ("=" (NAME | lambda))?
NAME   ::= [a-c]{1,3}
"""
BOTH = r"""
%stack "  "
root ::= @scope(@push("d") @new(NAME) ("," @new(NAME))*) ":" @scope("\n" @push(@deeper) root ("\n" @level root)*) | "x"
NAME ::= [ab]+ !>> [ab]
"""
TEXTS = [
    "x",
    "if",
    "\n",
    "\n ",
    " ",
    "\t",
    "   ",
    "       \t",
    "\n\t",
    "\n\tx",
    "\n  if\n",
    "if\n   ",
    "x\n",
    "x\n    x",
]
TEXTS += [
    "\n        x",
    "  \t",
    "(",
    "a",
    "b",
    "ab",
    "ca",
    ",",
    ",a",
    "a,",
    "b,a",
    "=a",
    "=(",
    "=(a,",
    ")",
    ")x",
    "a)",
    ";(",
]
TEXTS += ["d", "da", "a,b", ":", "a:\n", "a:\n   ", "b:\n\t", "da:"]
TEXTS += ["i", "f", "c", ";", "=", "da:b"]
TOKENS: list[bytes | None] = [*(text.encode() for text in TEXTS), None]

BYTES = stackmask.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_ids=[256])
FAR = re.compile(rb"\n[ \t]{10}|\n[ \t]*\t[ \t]*\t")


@pytest.mark.parametrize("rules", [BLOCKS, ENDS, NAMES, BOTH], ids=["blocks", "ends", "names", "both"])
def test_masks(rules: str) -> None:
    stop = len(TOKENS) - 1
    grammar = stackmask.Grammar.from_ebnf(rules)
    compiled = stackmask.Compiler(stackmask.Vocabulary(TOKENS, stop_ids=[stop])).compile(grammar)
    recognizer = Recognizer(called(grammar.rules))
    for seed in range(25):
        rng = random.Random(seed)
        matcher, place, text = compiled.matcher(), [recognizer.start()], b""
        for _ in range(12):
            going_on = sorted(check_place(matcher, recognizer, place, TOKENS, [stop]) - {stop})
            # the oracle writes out all ways to indent, which are too many where lines are indented far
            going_on = [token for token in going_on if FAR.search(text + TEXTS[token].encode()) is None]
            if not going_on:
                break
            token = rng.choice(going_on)
            text += TEXTS[token].encode()
            assert matcher.accept_token(token)
            place = advance_token(recognizer, place, token, TOKENS[token])


def holds(dfa: Dfa, text: bytes) -> bool:
    state: int | None = 0
    for byte in text:
        state = None if state is None else dfa.steps[state].get(byte)
    return state in dfa.accepting


@pytest.mark.parametrize(
    "top",
    [b"x", b"  ", b"\t", b"\n \t ", b"        ", b"\t\f   ", b"       \t\t", b"         ", b"       \t "],
)
def test_widths(top: bytes) -> None:
    same, more = (compile_dfa(expr, {}) for expr in (level(top), deeper(top)))
    column, count = width(top)
    for size in range(12):
        for blanks in map(bytes, product(b" \t", repeat=size)):
            found = width(blanks)
            assert holds(same, blanks) == (found == (column, count) and size > 0), blanks
            assert holds(more, blanks) == (found[0] > column and found[1] > count), blanks


def test_what_is_indented_by_nothing_has_no_level() -> None:
    compiled = stackmask.Compiler(stackmask.Vocabulary(TOKENS, stop_ids=[len(TOKENS) - 1])).compile(
        stackmask.Grammar.from_ebnf('root ::= @scope(@push("d") (@level "x" | "a"))')
    )
    matcher = compiled.matcher()
    assert matcher.accept_string("d") and not matcher.fork().accept_string("x") and matcher.accept_string("a")


def test_whole_strings_and_samples_know_them() -> None:
    grammar = stackmask.Grammar.from_ebnf(NAMES)
    for text, expected in (("(a,b)", True), ("(a,a)", False), ("(a=(a),b)x;(a)", True), ("(a=(b),a)", False)):
        assert grammar.accepts(text) == expected, text
    blocks = stackmask.Grammar.from_ebnf(BLOCKS)
    for seed in range(30):
        assert grammar.accepts(grammar.sample(seed=seed)[0])
        assert blocks.accepts(blocks.sample(seed=seed)[0])


def test_blanks_cost_work_in_proportion() -> None:
    grammar = stackmask.Grammar.from_ebnf('%stack " "\nroot ::= @scope(@push([ ]+) "x\\n" @level "y")')
    compiled = stackmask.Compiler(BYTES).compile(grammar)
    for size in (20, 2_000):
        matcher = compiled.matcher()
        assert matcher.accept_string(" " * size + "x\n" + " " * size) and not matcher.fork().accept_string(
            " "
        )
        assert matcher.accept_string("y")


def test_names_that_must_differ_cost_work_in_proportion_to_their_pairs() -> None:
    compiled = stackmask.Compiler(BYTES).compile('root ::= (@new([a-z0-9]+) ";")+')
    work = []
    for first in (0, 1_000):
        matcher = compiled.matcher()
        assert matcher.accept_string("".join(f"n{i};" for i in range(first)))
        before = matcher.account.left
        assert matcher.accept_string("".join(f"m{i};" for i in range(200)))
        work.append(before - matcher.account.left)
    assert work[1] > work[0] + 200 * 1_000
