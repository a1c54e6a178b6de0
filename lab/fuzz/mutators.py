"""Mutations of texts that keep their shape: spans of tokens, brackets and lines are moved, not bytes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

TOKEN = re.compile(r"[A-Za-z_]+|\d+|\s+|\\.|.", re.DOTALL)
OPENING = "([{"
CLOSING = ")]}"
NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "7",
    "31",
    "32",
    "63",
    "64",
    "100",
    "255",
    "256",
    "1000",
    "65536",
    "4294967296",
    "-1",
)
MOST_KEPT = 256


class TextMutator:
    """Mutates texts; ``pieces`` are what a text of the target is made of, ``fresh`` makes a new piece."""

    def __init__(self, pieces: Sequence[str], fresh: Callable[[random.Random], str]) -> None:
        self.pieces = pieces
        self.fresh = fresh
        self.kept: list[list[str]] = []  # texts seen before, to take spans from

    def mutate(self, text: str, source: random.Random) -> str:
        """Return a text that differs in one to four places."""
        tokens = TOKEN.findall(text)
        if len(self.kept) < MOST_KEPT:
            self.kept.append(tokens)
        elif source.random() < 0.1:
            self.kept[source.randrange(MOST_KEPT)] = tokens
        for _ in range(source.choice((1, 1, 1, 2, 2, 3, 4))):
            tokens = source.choice(self.changes())(tokens, source)
        return "".join(tokens)

    def changes(self) -> tuple[Callable[[list[str], random.Random], list[str]], ...]:
        """Return the ways in which a text is changed; likely ones several times."""
        return (
            *(self.insert_piece, self.insert_piece, self.insert_fresh, self.replace_token, self.replace_span),
            *(self.delete_span, self.repeat_span, self.move_span, self.change_number, self.wrap, self.splice),
        )

    def span(self, tokens: list[str], source: random.Random) -> tuple[int, int]:
        """Return a span: a few tokens, from a bracket to its partner, or a line."""
        if not tokens:
            return 0, 0
        begin = source.randrange(len(tokens))
        way = source.random()
        if way < 0.4:
            openings = [i for i, token in enumerate(tokens) if token in OPENING]
            if openings:
                begin = source.choice(openings)
                depth = 0
                for end in range(begin, len(tokens)):
                    depth += (tokens[end] in OPENING) - (tokens[end] in CLOSING)
                    if depth == 0:
                        return begin, end + 1
        if way < 0.6:
            while begin and "\n" not in tokens[begin - 1]:
                begin -= 1
            end = begin
            while end < len(tokens) and "\n" not in tokens[end]:
                end += 1
            return begin, min(end + 1, len(tokens))
        return begin, min(len(tokens), begin + source.choice((1, 1, 2, 3, 5, 9)))

    def insert_piece(self, tokens: list[str], source: random.Random) -> list[str]:
        at = source.randint(0, len(tokens))
        return [*tokens[:at], source.choice(self.pieces), *tokens[at:]]

    def insert_fresh(self, tokens: list[str], source: random.Random) -> list[str]:
        begin, end = self.span(tokens, source)
        if source.random() < 0.5:
            end = begin
        return [*tokens[:begin], *TOKEN.findall(self.fresh(source)), *tokens[end:]]

    def replace_token(self, tokens: list[str], source: random.Random) -> list[str]:
        if not tokens:
            return [source.choice(self.pieces)]
        at = source.randrange(len(tokens))
        other = source.choice(self.pieces) if source.random() < 0.5 else source.choice(tokens)
        return [*tokens[:at], other, *tokens[at + 1 :]]

    def replace_span(self, tokens: list[str], source: random.Random) -> list[str]:
        begin, end = self.span(tokens, source)
        first, last = self.span(tokens, source)
        return [*tokens[:begin], *tokens[first:last], *tokens[end:]]

    def delete_span(self, tokens: list[str], source: random.Random) -> list[str]:
        begin, end = self.span(tokens, source)
        return tokens[:begin] + tokens[end:]

    def repeat_span(self, tokens: list[str], source: random.Random) -> list[str]:
        begin, end = self.span(tokens, source)
        return tokens[:begin] + tokens[begin:end] * source.choice((2, 2, 3, 5)) + tokens[end:]

    def move_span(self, tokens: list[str], source: random.Random) -> list[str]:
        begin, end = self.span(tokens, source)
        moved, left = tokens[begin:end], tokens[:begin] + tokens[end:]
        at = source.randint(0, len(left))
        return left[:at] + moved + left[at:]

    def change_number(self, tokens: list[str], source: random.Random) -> list[str]:
        places = [i for i, token in enumerate(tokens) if token.isdecimal()]
        if not places:
            return self.insert_piece(tokens, source)
        at = source.choice(places)
        return [*tokens[:at], source.choice(NUMBERS), *tokens[at + 1 :]]

    def wrap(self, tokens: list[str], source: random.Random) -> list[str]:
        begin, end = self.span(tokens, source)
        left, right = source.choice(("()", "[]", "{}", '""', "''", ("(", ")*"), ("(", ")?"), ("(", "){2,3}")))
        return [*tokens[:begin], left, *tokens[begin:end], right, *tokens[end:]]

    def splice(self, tokens: list[str], source: random.Random) -> list[str]:
        other = source.choice(self.kept)
        first, last = self.span(other, source)
        begin, end = self.span(tokens, source)
        return [*tokens[:begin], *other[first:last], *tokens[end:]]


def mutate_input(data: bytes, source: random.Random, mutator: TextMutator) -> bytes:
    """Mutate an input of an options byte and a text: mostly the text."""
    first = data[:1] or b"0"
    if source.random() < 0.1:
        first = bytes([source.randrange(48, 112)])
    text = data[1:].decode("utf-8", "surrogateescape")
    return first + mutator.mutate(text, source).encode("utf-8", "surrogatepass")
