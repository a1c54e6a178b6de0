"""Grammars put together, by operators, as a structural tag and as parts of an EBNF text; all languages are finite.

The bytes of the input are decisions. The texts of a tree are found by making them all, so every bit of every mask is known.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import stackmask as sm
from fuzz.checks import (
    LIMITS,
    NAMED_ERRORS,
    Walk,
    compiler_of,
    expect,
    make_vocabulary,
    mask_of,
    random_of,
    tokens_of,
)
from fuzz.choices import Choices

MAX_LENGTH = 80
MOST_TEXTS = 120  # of the language of a tree
MOST_BYTES = 60
MOST_DEPTH = 4
MOST_PARTS = 14
STRINGS = (
    "a",
    "b",
    "ab",
    "ba",
    "aa",
    "abc",
    "",
    " ",
    "é",
    "é€",
    '"',
    '":',
    "{",
    "}",
    "\n",
    "name",
    "null",
    "<",
    "</",
    "\\",
)
PATTERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("a?b", ("b", "ab")),
    ("(?:a|ab)c?", ("a", "ac", "ab", "abc")),
    ("[ab]{1,2}", ("a", "b", "aa", "ab", "ba", "bb")),
    ("(?!aa)[ab]{2}", ("ab", "ba", "bb")),
)
VALUES: tuple[Any, ...] = ("a", None, True, [], {}, ["a"], {"a": None}, "é")  # a number has endless spellings
MARKERS = (("<|x|>", "<|y|>"), ("<a>", "</a>"), ("{", "}"), ("a", "b"))
vocabulary = make_vocabulary()
# the names of its special tokens are text here
plain = sm.Vocabulary(vocabulary.tokens, stop_ids=vocabulary.stop_ids)


@dataclass(frozen=True)
class Made:
    """A grammar and all of its texts; the same as a format of a structural tag, where there is one."""

    grammar: sm.Grammar
    texts: frozenset[bytes]
    tag: Any


class TooMany(Exception):
    """The language of a tree is too large."""


def seeds() -> Iterator[bytes]:
    source = random.Random(0)
    for _ in range(120):
        yield source.randbytes(source.choice((8, 20, 40)))


def set_of(texts: Any) -> frozenset[bytes]:
    """Return texts as a set. Raises: TooMany."""
    found: set[bytes] = set()
    for text in texts:
        found.add(text)
        if len(found) > MOST_TEXTS or len(text) > MOST_BYTES:
            raise TooMany
    return frozenset(found)


def powers(texts: frozenset[bytes], low: int, high: int) -> frozenset[bytes]:
    """Return the texts of ``low`` to ``high`` repetitions."""
    row: frozenset[bytes] = frozenset({b""})
    found: set[bytes] = set()
    for count in range(high + 1):
        if count >= low:
            found |= row
        if count < high:
            row = set_of(one + other for one in row for other in texts)
    return set_of(found)


class Maker:
    """Makes trees of grammars as decisions say."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.parts = 0

    def tree(self, depth: int) -> Made:
        """Return a tree of at most a depth."""
        self.parts += 1
        way = self.choices.below(12)
        if depth == 0 or self.parts > MOST_PARTS or way < 4:
            return self.leaf()
        below = depth - 1
        if way == 4:
            return self.joined([self.tree(below), self.tree(below)])
        if way == 5:
            return self.either([self.tree(below), self.tree(below)])
        if way == 6:
            return self.joined([self.tree(below) for _ in range(1 + self.choices.below(3))])
        if way == 7:
            return self.either([self.tree(below) for _ in range(1 + self.choices.below(4))])
        if way == 8:
            part = self.tree(below)
            tag = None if part.tag is None else {"type": "optional", "content": part.tag}
            return Made(part.grammar.optional(), part.texts | {b""}, tag)
        if way == 9:
            return self.repeated(self.tree(below))
        if way == 10:
            return self.marked(self.tree(below))
        return self.embedded([self.tree(below) for _ in range(1 + self.choices.below(2))])

    def leaf(self) -> Made:
        """Return strings, a pattern, or JSON of one value."""
        way = self.choices.below(6)
        if way < 3:
            strings = [self.choices.pick(STRINGS) for _ in range(1 + self.choices.below(4))]
            tags = [{"type": "const_string", "value": string} for string in strings]
            texts = frozenset(string.encode() for string in strings)
            tag = tags[0] if len(tags) == 1 else {"type": "or", "elements": tags}
            return Made(sm.Grammar.from_choices(strings), texts, tag)
        if way < 5:
            pattern, strings_of = self.choices.pick(PATTERNS)
            texts = frozenset(string.encode() for string in strings_of)
            grammar = sm.Grammar.from_regex(pattern, flavor="ecma", search=False)
            return Made(grammar, texts, {"type": "regex", "pattern": pattern})
        value = self.choices.pick(VALUES)
        grammar = sm.Grammar.from_json_schema({"const": value}, whitespace="compact", spelling="plain")
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        return Made(grammar, frozenset({text}), None)

    def joined(self, parts: list[Made]) -> Made:
        texts = frozenset({b""})
        for part in parts:
            texts = set_of(one + other for one in texts for other in part.texts)
        grammar = (
            parts[0].grammar + parts[1].grammar if len(parts) == 2 else sm.concat(*(p.grammar for p in parts))
        )
        return Made(grammar, texts, together("sequence", parts))

    def either(self, parts: list[Made]) -> Made:
        texts = set_of(text for part in parts for text in part.texts)
        if len(parts) == 2:
            return Made(parts[0].grammar | parts[1].grammar, texts, together("or", parts))
        named = {f"part{number}": part.grammar for number, part in enumerate(parts)}
        return Made(sm.union(**named), texts, together("or", parts))

    def repeated(self, part: Made) -> Made:
        low = self.choices.below(3)
        high = low + self.choices.below(3)
        tag = None if part.tag is None else {"type": "repeat", "content": part.tag, "min": low, "max": high}
        return Made(part.grammar.repeat(low, high), powers(part.texts, low, high), tag)

    def marked(self, part: Made) -> Made:
        begin, end = self.choices.pick(MARKERS)
        texts = set_of(begin.encode() + text + end.encode() for text in part.texts)
        tag = None if part.tag is None else {"type": "tag", "begin": begin, "content": part.tag, "end": end}
        return Made(sm.tag(begin, part.grammar, end), texts, tag)

    def embedded(self, parts: list[Made]) -> Made:
        """Return an EBNF text with the parts by name, and a part of another language."""
        grammars = {f"part{number}": part.grammar for number, part in enumerate(parts)}
        strings = [self.choices.pick(STRINGS) for _ in range(1 + self.choices.below(2))]
        pattern, of_pattern = self.choices.pick(PATTERNS)
        other, also = self.choices.pick(
            (
                (f"%choice {json.dumps(strings)}", strings),
                (f"%regex /{pattern}/", of_pattern),
                ('"x"', ("x",)),
            )
        )
        text = f"root ::= {' '.join(grammars)} | r\nr ::= {other}"
        texts = set_of([*self.joined(parts).texts, *(string.encode() for string in also)])
        return Made(sm.Grammar.from_ebnf(text, grammars=grammars), texts, None)


def together(kind: str, parts: list[Made]) -> Any:
    """Return formats of a structural tag put together; None if one of them is none."""
    if any(part.tag is None for part in parts):
        return None
    return {"type": kind, "elements": [part.tag for part in parts]}


def run(data: bytes) -> None:
    choices = Choices(data)
    source = random_of(data)
    is_tag = choices.below(2) == 1
    try:
        made = Maker(choices).tree(MOST_DEPTH)
        grammar = made.grammar
        if is_tag and made.tag is not None:
            grammar = sm.Grammar.from_structural_tag(
                {"type": "structural_tag", "format": made.tag}, limits=LIMITS
            )
        if not made.texts:
            return
        if source.random() < 0.2:  # markers are special tokens: the texts are others
            matcher = compiler_of(vocabulary).compile(grammar).matcher()
            Walk(matcher, vocabulary, source).run(6)
            return
        matcher = compiler_of(plain).compile(grammar).matcher()
        compare(matcher, made.texts, source)
        Walk(matcher, plain, source).run(2)
    except (*NAMED_ERRORS, TooMany):
        return


def compare(matcher: Any, texts: frozenset[bytes], source: random.Random) -> None:
    """Compare the masks along one of the texts, cut into tokens anyhow, with what the others begin with."""
    goal = source.choice(sorted(texts))
    begun = b""
    while True:
        left = [text[len(begun) :] for text in texts if text.startswith(begun)]
        begins = {text[:end] for text in left for end in range(1, len(text) + 1)}
        wanted = {i for i, token in enumerate(plain.tokens) if token in begins}
        if begun in texts:
            wanted |= set(plain.stop_ids)
        allowed = tokens_of(mask_of(matcher, plain.size))
        expect(set(allowed) == wanted, "the mask of a finite language", begun, sorted(set(allowed) ^ wanted))
        expect(matcher.is_accepting() == (begun in texts), "whether the text may end", begun)
        rest = goal[len(begun) :]
        fitting = [
            i for i in allowed if i not in plain.stop_ids and rest.startswith(plain.tokens[i] or b"\0\0")
        ]
        if not fitting:
            expect(not rest, "the text cannot be written", begun, rest)
            break
        token = source.choice(fitting)
        expect(matcher.accept_token(token), "an allowed token is refused", begun, token)
        begun += plain.tokens[token] or b""
    matcher.rollback(matcher.accept_calls)
