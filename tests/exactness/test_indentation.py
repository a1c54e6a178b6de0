"""`@new`, `@level` and `@deeper`: masks against an oracle to which they are callables, and widths against Python's rule."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Hashable
from functools import cache
from itertools import product

import pytest
from oracle.earley import Recognizer
from oracle.masks import advance_token
from oracle.regular import Dfa, compile_dfa

import stackmask
from exactness.walks import check_place
from stackmask.grammar.ir import (
    Capture,
    CharClass,
    Choice,
    Dynamic,
    Expr,
    Literal,
    Repeat,
    Rule,
    RuleSet,
    Sequence,
    children,
)
from stackmask.grammar.ir.build import rebuild
from stackmask.grammar.ir.stacked import deeper, level

BLANK = CharClass(((9, 9), (32, 32)))
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

FAR = re.compile(rb"\n[ \t]{10}|\n[ \t]*\t[ \t]*\t")


@cache
def width(text: bytes) -> tuple[int, int]:
    column = count = 0
    for byte in text:
        column, count = {32: (column + 1, count + 1), 9: ((column // 8 + 1) * 8, count + 1)}.get(byte, (0, 0))
    return column, count


@cache
def reaching(wanted: tuple[int, int], at: tuple[int, int], deeper: bool) -> Expr:
    """Return the blanks after which the width is as wanted, or larger in both ways."""
    if deeper and at[0] > wanted[0]:
        return Repeat(BLANK, max(wanted[1] + 1 - at[1], 0), None)
    if not deeper and (at[0] >= wanted[0] or at[1] >= wanted[1]):
        return Literal(b"") if at == wanted else Choice(())
    steps = ((b" ", at[0] + 1), (b"\t", (at[0] // 8 + 1) * 8))
    ways = [Sequence((Literal(text), reaching(wanted, (to, at[1] + 1), deeper))) for text, to in steps]
    return Choice(tuple(ways))


def called(rules: RuleSet) -> RuleSet:
    """Return the rules with callables, whose value is a stack of texts, each with what put it there."""

    def stack(value: Hashable) -> tuple[tuple[str, bytes], ...]:
        assert isinstance(value, tuple)
        return value

    def push(value: Hashable, text: bytes) -> Hashable:
        return (*stack(value), ("push", text))

    def new(value: Hashable, text: bytes) -> Hashable | None:
        since = [index for index, (what, _) in enumerate(stack(value)) if what == "push"]
        taken = [each for _, each in stack(value)[(since or [-1])[-1] + 1 :]]
        return None if text in taken else (*stack(value), ("new", text))

    def answer(is_deeper: bool) -> Callable[[Hashable], Expr]:
        return lambda value: reaching(width(stack(value)[-1][1]), (0, 0), is_deeper)

    actions = {"push": push, "new": new}
    resolvers = {"level": answer(False), "deeper": answer(True)}

    def changed(expr: Expr) -> Expr:
        items = tuple(changed(child) for child in children(expr))
        if isinstance(expr, Capture):
            return Capture(items[0], actions[str(expr.action)])
        if isinstance(expr, Dynamic):
            return Dynamic(resolvers[str(expr.resolver)])
        return rebuild(expr, items) if items else expr

    bodies = {name: Rule(name, changed(rule.body)) for name, rule in rules.rules.items()}
    assert isinstance(rules.initial, tuple)
    return RuleSet(bodies, rules.start, tuple(("push", text) for text in rules.initial))


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


@pytest.mark.parametrize("top", [b"x", b"  ", b"\t", b"\n \t ", b"        ", b"\t\f   ", b"       \t\t"])
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
