"""Calls of matchers in any order: a byte picks a grammar, the others are the calls.

Compilers live as long as the process, with so few ``cache_bytes`` that masks and stores are dropped; what a text leads to
must be the same each time, whatever was done before on the same compiler.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import stackmask as sm
from fuzz.checks import LIMITS, NAMED_ERRORS, POISON, expect, make_vocabulary, mask_of, tokens_of
from fuzz.choices import Choices

MAX_LENGTH = 300
MOST_CALLS = 40
MOST_FORKS = 6
MOST_REMEMBERED = 20_000
CACHE_BYTES = 2 << 20
GRAMMARS: tuple[tuple[str, Any], ...] = (
    ("ebnf", 'root ::= "a" root "b" | "c"*'),
    ("ebnf", "root ::= root root | '(' root ')' | [a-z]*"),
    ("ebnf", "root ::= e\ne ::= e '+' e | e '*' e | '(' e ')' | [0-9]+ | name\nname ::= [a-z]+ !>> [a-z]"),
    ("ebnf", 'root ::= "<" @push([a-z]+) ">" root* "</" @top ">" | "-"'),
    ("ebnf", 'root ::= (<|x|> [a-c]{1,3} <|y|>)* "end"'),
    ("ebnf", 'root ::= ([a-z]+ & !("if" | "else")) (" " [a-z]+)*'),
    ("ebnf", "root ::= .{3,20} 'x' | [à-ü€]+ | \"ab\"{5,9}"),
    ("ebnf", "root ::= a b c\na ::= b | 'a'\nb ::= c* | a 'b'\nc ::= root? 'c'"),
    ("schema", True),
    ("schema", {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (
        "schema",
        {
            "properties": {"a": {"type": "string", "maxLength": 5}, "ab": {"enum": ["x", 1, None]}},
            "required": ["a"],
        },
    ),
    ("schema", {"type": "object", "additionalProperties": {"$ref": "#"}, "maxProperties": 3}),
    (
        "schema",
        {
            "anyOf": [
                {"type": "number", "multipleOf": 3},
                {"type": "string", "format": "date"},
                {"const": {"a": [1, "b"]}},
            ]
        },
    ),
    ("regex", r"(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{4,9}"),
    ("regex", r"(a|b)*a(a|b){6}"),
    ("regex", r"\b\w+\b( \b\w+\b)*"),
    ("choices", [b"ab", b"abc", b"abcd", "é", b"", b"name"]),
)
vocabulary = make_vocabulary()
# masks by grammar and by the texts accepted so far
remembered: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()


def seeds() -> Iterator[bytes]:
    """Yield random calls on each grammar."""
    source = random.Random(0)
    for number in range(len(GRAMMARS)):
        for _ in range(4):
            yield bytes([number]) + source.randbytes(60)


@cache
def compiler() -> sm.Compiler:
    return sm.Compiler(vocabulary, limits=LIMITS, cache_bytes=CACHE_BYTES)


@cache
def grammar_of(number: int) -> sm.Grammar:
    kind, source = GRAMMARS[number]
    if kind == "ebnf":
        return sm.Grammar.from_ebnf(source)
    if kind == "schema":
        return sm.Grammar.from_json_schema(source, property_order="any" if number % 2 else "schema")
    return sm.Grammar.from_regex(source) if kind == "regex" else sm.Grammar.from_choices(source)


class Player:
    """Plays calls on a matcher and its forks, beside a list of what was accepted."""

    def __init__(self, number: int, choices: Choices) -> None:
        self.number = number
        self.choices = choices
        self.matchers: list[tuple[Any, list[Any]]] = [(compiler().compile(grammar_of(number)).matcher(), [])]
        self.calls = (
            *(
                self.accept_allowed,
                self.accept_allowed,
                self.accept_allowed,
                self.accept_any,
                self.accept_text,
            ),
            *(
                self.rollback,
                self.fork,
                self.reset,
                self.draft,
                self.jump,
                self.jump_tokens,
                self.ask,
                self.batch,
            ),
            *(self.rows, self.drop, self.too_far),
        )

    def play(self) -> None:
        """Play all calls; after each the mask must be that of the text."""
        for _ in range(MOST_CALLS):
            if self.choices.ended:
                return
            matcher, history = self.choices.pick(self.matchers)
            before = matcher.accept_calls
            call = self.choices.pick(self.calls)
            try:
                call(matcher, history)
                expect(matcher.accept_calls == len(history), "accept_calls", matcher.accept_calls, history)
                self.check(matcher, history)
            except sm.SpoiledError:
                return
            except sm.BudgetError:
                expect(before <= matcher.accept_calls, "an error changed the history", before)
                return

    def check(self, matcher: Any, history: list[Any]) -> bytes:
        """Check the mask against the one that the same text had before; return it."""
        mask = mask_of(matcher, vocabulary.size)
        key = (self.number, *history)
        if key in remembered:
            expect(remembered[key] == mask, "another mask for the same text", history, tokens_of(mask))
        else:
            remembered[key] = mask
            if len(remembered) > MOST_REMEMBERED:
                remembered.popitem(last=False)
        return mask

    def accept_allowed(self, matcher: Any, history: list[Any]) -> None:
        allowed = tokens_of(self.check(matcher, history))
        if allowed:
            token = allowed[self.choices.below(len(allowed))]
            expect(matcher.accept_token(token), "an allowed token is refused", token, history)
            history.append(token)

    def accept_any(self, matcher: Any, history: list[Any]) -> None:
        token = self.choices.below(vocabulary.size + 2) - 1
        allowed = tokens_of(self.check(matcher, history))
        try:
            taken = matcher.accept_token(token)
        except sm.MatcherError:
            expect(not 0 <= token < vocabulary.size, "an error for a token", token)
            return
        expect(taken == (token in allowed), "mask and accept disagree", token, taken, history)
        if taken:
            history.append(token)
        else:
            expect(matcher.refusal is not None, "no reason for a refusal", token)

    def accept_text(self, matcher: Any, history: list[Any]) -> None:
        text = self.choices.take(self.choices.below(6))
        if matcher.accept_string(text):
            history.append(text)

    def rollback(self, matcher: Any, history: list[Any]) -> None:
        count = self.choices.below(len(history) + 1)
        matcher.rollback(count)
        del history[len(history) - count :]

    def too_far(self, matcher: Any, history: list[Any]) -> None:
        for count in (len(history) + 1 + self.choices.byte(), -1 - self.choices.byte()):
            try:
                matcher.rollback(count)
            except NAMED_ERRORS:
                continue
            expect(False, "a rollback before the start", count, history)

    def fork(self, matcher: Any, history: list[Any]) -> None:
        if len(self.matchers) < MOST_FORKS:
            self.matchers.append((matcher.fork(), list(history)))

    def drop(self, matcher: Any, history: list[Any]) -> None:
        if len(self.matchers) > 1:
            self.matchers = [pair for pair in self.matchers if pair[0] is not matcher]

    def reset(self, matcher: Any, history: list[Any]) -> None:
        matcher.reset()
        history.clear()

    def draft(self, matcher: Any, history: list[Any]) -> None:
        count = self.choices.below(5)
        tokens = [self.choices.below(vocabulary.size) for _ in range(count)]
        parents = [self.choices.below(i + 1) - 1 for i in range(count)]
        masks = np.full((count + 2, -(-vocabulary.size // 32)), POISON, np.int32)
        taken = matcher.fill_draft_bitmask(tokens, parents, masks)
        expect(bool((masks[count + 1] == POISON).all()), "a draft wrote outside of its rows")
        for i, token in enumerate(tokens):
            parent = parents[i]
            row = masks[parent + 1]
            alive = parent < 0 or taken[parent]
            allowed = bool(int(row[token >> 5]) >> (token & 31) & 1)
            expect(
                taken[i] == (alive and allowed),
                "a draft token and the mask of its parent",
                tokens,
                parents,
                taken,
            )

    def jump(self, matcher: Any, history: list[Any]) -> None:
        whole, cut = matcher.find_jump_forward_bytes()
        text = whole + cut
        if text:
            expect(matcher.expected_bytes() == {text[0]}, "forced bytes", text, matcher.expected_bytes())
            expect(matcher.accept_string(text), "forced bytes are refused", text)
            history.append(text)

    def jump_tokens(self, matcher: Any, history: list[Any]) -> None:
        context = [item for item in history if isinstance(item, int)]
        back, tokens = matcher.find_jump_forward_tokens(context if len(context) == len(history) else ())
        expect(0 <= back <= len(history), "a jump takes back", back)
        matcher.rollback(back)
        del history[len(history) - back :]
        for token in tokens:
            expect(matcher.accept_token(token), "a forced token is refused", token)
            history.append(token)

    def ask(self, matcher: Any, history: list[Any]) -> None:
        found, tokens, end = matcher.expected()
        expect(found == matcher.expected_bytes(), "expected bytes", found)
        expect(end == matcher.is_accepting() or matcher.is_terminated(), "whether the text may end", end)
        matcher.must_stop()
        matcher.describe()
        expect(all(0 <= token < vocabulary.size for token in tokens), "expected tokens", tokens)

    def batch(self, matcher: Any, history: list[Any]) -> None:
        masks = np.full((len(self.matchers) + 1, -(-vocabulary.size // 32)), POISON, np.int32)
        rows = [*range(len(self.matchers))][::-1]
        sm.fill_next_token_bitmask([pair[0] for pair in self.matchers], masks, rows, threads=2)
        for row, (_, accepted) in zip(rows, self.matchers, strict=True):
            wanted = remembered.get((self.number, *accepted))
            expect(wanted is None or masks[row].tobytes() == wanted, "the mask in a batch", accepted)
        expect(bool((masks[-1] == POISON).all()), "a batch wrote outside of its rows")

    def rows(self, matcher: Any, history: list[Any]) -> None:
        matcher.mask_rows(1 + self.choices.below(4), self.choices.below(12))


def run(data: bytes) -> None:
    choices = Choices(data)
    Player(choices.below(len(GRAMMARS)), choices).play()
