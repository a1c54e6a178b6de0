"""Token budgets: a text that follows the masks under a budget ends in time, whatever is chosen.

The first byte picks a grammar; 255 one of random rules, made from the next four. The others pick tokens.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

import stackmask as sm
from fuzz.checks import LIMITS, NAMED_ERRORS, POISON, compiler_of, expect, make_vocabulary, tokens_of
from fuzz.choices import Choices
from fuzz.targets.ebnf import expression
from stackmask.grammar import ir
from stackmask.runtime.matching.budgets import CompletionError

MAX_LENGTH = 60
MOST_STEPS = 16
# whether the promise has no exception: those with captured texts have
GRAMMARS: tuple[tuple[str, Any, bool], ...] = (
    ("ebnf", 'root ::= "a" root "b" | "c"*', True),
    ("ebnf", "root ::= root root | '(' root ')' | [a-z]*", True),
    ("ebnf", "root ::= e\ne ::= e '+' e | e '*' e | '(' e ')' | [0-9]+ | n\nn ::= [a-z]+ !>> [a-z]", False),
    ("ebnf", 'root ::= (<|x|> [a-c]{1,3} <|y|>)* "end"', True),
    ("ebnf", 'root ::= ([a-z]+ & !("if" | "else")) (" " [a-z]+)*', True),
    ("ebnf", "root ::= .{3,20} 'x' | [à-ü€]+ | \"ab\"{5,9}", True),
    ("ebnf", "root ::= a b c\na ::= b | 'a'\nb ::= c* | a 'b'\nc ::= root? 'c'", True),
    ("ebnf", 'root ::= "<" @push([a-z]+) ">" root* "</" @top ">" | "-"', False),
    ("schema", True, False),
    ("schema", {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, False),
    (
        "schema",
        {"properties": {"a": {"maxLength": 5}, "ab": {"enum": ["x", 1, None]}}, "required": ["a"]},
        False,
    ),
    ("schema", {"type": "object", "additionalProperties": {"$ref": "#"}, "minProperties": 2}, False),
    ("regex", r"(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{4,9}", True),
    ("regex", r"(a|b)*a(a|b){6}", True),
    ("choices", [b"ab", b"abc", b"abcd", "é", b"", b"name", b"abababab"], True),
)
vocabulary = make_vocabulary()
WORDS = -(-vocabulary.size // 32)


def seeds() -> Iterator[bytes]:
    source = random.Random(0)
    for number in range(len(GRAMMARS)):
        for _ in range(3):
            yield bytes([number]) + source.randbytes(24)
    for _ in range(60):
        yield b"\xff" + source.randbytes(28)


@lru_cache(maxsize=64)
def grammar_of(number: int) -> sm.Grammar:
    kind, source, _ = GRAMMARS[number]
    if kind == "ebnf":
        return sm.Grammar.from_ebnf(source)
    if kind == "schema":
        return sm.Grammar.from_json_schema(source)
    return sm.Grammar.from_regex(source) if kind == "regex" else sm.Grammar.from_choices(source)


@lru_cache(maxsize=64)
def random_grammar(seed: bytes) -> sm.Grammar:
    """Return a grammar of random rules. Raises: GrammarError, since many mean nothing."""
    source = random.Random(seed)
    names = ("root", "a", "b", "c")
    rules = (f"{name} ::= {expression(source, 2, names)}" for name in names)
    return sm.Grammar.from_ebnf("\n".join(rules), limits=LIMITS)


def run(data: bytes) -> None:
    choices = Choices(data)
    number = choices.byte()
    try:
        if number == 255:
            grammar, always = random_grammar(choices.take(4)), False
        else:
            number %= len(GRAMMARS)
            grammar, always = grammar_of(number), GRAMMARS[number][2]
        walk(compiler_of(vocabulary).compile(grammar).matcher(), choices, always, not has_tokens(grammar))
    except NAMED_ERRORS:
        return


def has_tokens(grammar: sm.Grammar) -> bool:
    """Tell whether a grammar asks for special tokens, which no string holds."""
    bodies = (rule.body for rule in grammar.rules.rules.values())
    return any(isinstance(node, ir.TokenTerminal) for body in bodies for node in ir.walk(body))


def walk(matcher: Any, choices: Choices, always: bool, is_text: bool) -> None:
    """Go on without a budget for some tokens, then under one to the end."""
    for _ in range(choices.below(4)):
        allowed = tokens_of(mask_under(matcher, None))
        if not allowed or not matcher.accept_token(allowed[choices.below(len(allowed))]):
            return
        if matcher.is_terminated():
            expect(matcher.needs_at_least() == 0, "an ended text needs tokens")
            return
    needed = matcher.needs_at_least()
    if is_text:
        check_shortest(matcher)
    check_refused(matcher, needed)
    budget = needed + choices.pick((0, 0, 1, 2, 3, 5, 8, 40))
    steps = []
    while not matcher.is_terminated():
        if len(steps) > MOST_STEPS:
            return
        try:
            mask = mask_under(matcher, budget)
        except CompletionError as error:
            expect(not always, "a budget is refused on the way", budget, error.needed, steps)
            return
        free = mask_under(matcher, None)
        allowed = tokens_of(mask)
        expect(bool(allowed), "an empty mask under a budget", budget, steps)
        expect(set(allowed) <= set(tokens_of(free)), "a budget allows more", budget, steps)
        token = allowed[choices.below(len(allowed))]
        expect(matcher.accept_token(token), "an allowed token is refused", budget, token, steps)
        budget -= 1
        steps.append(token)
        left = matcher.needs_at_least()
        expect(
            left is None or not always or left <= budget,
            "a text needs more than is left",
            left,
            budget,
            steps,
        )
        expect(budget > 0 or matcher.is_terminated(), "the budget is used up", steps)


def check_shortest(matcher: Any) -> None:
    """Check that the shortest completion ends the text."""
    end = matcher.shortest_completion()
    fork = matcher.fork()
    expect(not end.text or fork.accept_string(end.text), "the shortest completion is refused", end.text)
    expect(fork.is_accepting(), "the shortest completion does not end the text", end.text)


def check_refused(matcher: Any, needed: int) -> None:
    """Check that less than what is needed is refused by name, and that nothing is written then."""
    if needed < 2:
        return
    masks = np.full((1, WORDS), POISON, np.int32)
    try:
        matcher.fill_next_token_bitmask(masks, budget=needed - 1)
    except CompletionError as error:
        expect(error.needed == needed, "what a refusal says is needed", error.needed, needed)
        return
    # the search by tokens may find a better way only when it is asked here
    expect(bool(tokens_of(masks[0])), "an empty mask under a budget", needed - 1)


def mask_under(matcher: Any, budget: int | None) -> bytes:
    """Return the mask under a budget, filled twice."""
    masks = np.full((3, WORDS), POISON, np.int32)
    for row in (0, 1):
        if budget is None:
            matcher.fill_next_token_bitmask(masks, row)
        else:
            matcher.fill_next_token_bitmask(masks, row, budget=budget)
    expect(bool((masks[2] == POISON).all()), "a fill wrote outside of its row")
    expect(masks[0].tobytes() == masks[1].tobytes(), "two fills under a budget differ", budget)
    return masks[0].tobytes()
