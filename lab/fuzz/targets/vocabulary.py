"""Vocabularies of any shape: tokens, special and stop ids, widths, read from the bytes of the input."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import stackmask as sm
from fuzz.checks import LIMITS, NAMED_ERRORS, Walk, expect, filled, mask_of, random_of, tokens_of
from fuzz.choices import Choices

MAX_LENGTH = 600
FILES = 0.02  # share of the inputs whose vocabulary is written to a file: it waits for the disk
GRAMMARS = (
    ("ebnf", 'root ::= "a" root "b" | "c"*'),
    ("ebnf", "root ::= ([a-z]+ !>> [a-z] | [0-9]+ | ' ')*"),
    ("ebnf", 'root ::= (<|x|> | <|y|>) [a-c]{1,3} | "é"+ | ""'),
    ("ebnf", "root ::= .*"),
    ("ebnf", "root ::= [a-z]{2,40} 'x' | root ' ' root"),
    ("regex", r"(?s:.*)a[^b]{3}"),
    ("schema", True),
    ("schema", {"type": "string", "maxLength": 3}),
)
LETTERS = (
    b"a",
    b"b",
    b"c",
    b"x",
    b" ",
    b"1",
    b'"',
    b"{",
    b"}",
    b":",
    b",",
    b"\xc3",
    b"\xa9",
    b"\xe2\x82",
    b"\xac",
    b"\x00",
)


def seeds() -> Iterator[bytes]:
    source = random.Random(0)
    for number in range(len(GRAMMARS) * 6):
        yield bytes([number]) + source.randbytes(source.choice((20, 60, 200)))


@cache
def grammar_of(number: int) -> sm.Grammar:
    kind, source = GRAMMARS[number]
    if kind == "ebnf":
        return sm.Grammar.from_ebnf(source)
    return sm.Grammar.from_regex(source) if kind == "regex" else sm.Grammar.from_json_schema(source)


def token_of(choices: Choices) -> Any:
    """Return a token, rarely one of a wrong type."""
    way = choices.byte()
    if way < 150:
        return b"".join(choices.pick(LETTERS) for _ in range(1 + way % 5))
    if way < 200:
        return bytes([choices.byte()])
    if way < 225:
        return choices.take(choices.below(24))
    if way < 240:
        return None
    if way < 248:
        return choices.pick(LETTERS) * (1 + choices.byte())
    if way < 253:
        return b""
    return choices.pick(("a", 3, bytearray(b"ab"), memoryview(b"ab"), [98]))


def make(choices: Choices) -> sm.Vocabulary:
    """Return a vocabulary. Raises: VocabularyError or TypeError, since inputs ask for what is none, too."""
    options = choices.byte()
    count = choices.below(80)
    tokens = [token_of(choices) for _ in range(count)]
    if options & 1:
        tokens = [bytes([byte]) for byte in range(256)] + tokens
    stops = [choices.below(len(tokens) + 3) - 1 for _ in range(options >> 1 & 3)]
    special = [choices.below(len(tokens) + 3) - 1 for _ in range(options >> 3 & 3)]
    names = (
        {"<|x|>": choices.below(len(tokens) + 2), "<|y|>": choices.below(len(tokens) + 2)}
        if options & 32
        else {}
    )
    size = len(tokens) + choices.below(70) - 1 if options & 64 else None
    return sm.Vocabulary(
        tokens,
        stop_ids=stops,
        special_ids=special,
        special_names=names,
        size=size,
        strip_first_space=bool(options & 128),
    )


def run(data: bytes) -> None:
    choices = Choices(data)
    grammar = grammar_of(choices.below(len(GRAMMARS)))
    source = random_of(data)
    try:
        vocabulary = make(choices)
    except (*NAMED_ERRORS, TypeError):
        return
    try:
        if source.random() < FILES:
            vocabulary = saved(vocabulary, source)
        compiler = sm.Compiler(vocabulary, limits=LIMITS, cache_bytes=1 << 20)
        matcher = compiler.compile(grammar).matcher()
        compare(matcher, vocabulary, source)
    except NAMED_ERRORS:
        return


def saved(vocabulary: sm.Vocabulary, source: random.Random) -> sm.Vocabulary:
    """Return the vocabulary written to a file and read again, sometimes from a damaged file as well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary"
        vocabulary.save(path)
        again = sm.Vocabulary.load(path)
        expect(list(again.tokens) == list(vocabulary.tokens), "tokens change in a file")
        expect(again.digest() == vocabulary.digest(), "the digest changes in a file")
        written = bytearray(path.read_bytes())
        for _ in range(source.randint(1, 3)):
            written[source.randrange(len(written))] = source.randrange(256)
        if source.random() < 0.5:
            del written[source.randrange(len(written)) :]
        path.write_bytes(written)
        with contextlib.suppress(NAMED_ERRORS):
            sm.Vocabulary.load(path)
    return again


def compare(matcher: Any, vocabulary: sm.Vocabulary, source: random.Random) -> None:
    """Compare masks with what happens to the bytes of each token, one by one."""
    tokens = vocabulary.tokens
    walk = Walk(matcher, vocabulary, source)
    for number in range(5):
        mask = mask_of(matcher, vocabulary.size)
        allowed = set(tokens_of(mask))
        if matcher.is_terminated():
            expect(not allowed, "tokens after the end", allowed)
            return
        expect(
            not {i for i in allowed if i >= len(tokens)} - vocabulary.special_ids,
            "an id without a token",
            allowed,
        )
        for token in source.sample(range(len(tokens)), min(12, len(tokens))):
            text = tokens[token]
            if token in vocabulary.special_ids:
                continue
            fork = matcher.fork()
            expect(fork.accept_token(token) == (token in allowed), "mask and accept disagree", token, text)
            if text is None or text == b"":
                expect(token not in allowed, "a token without text is allowed", token)
            elif number or not vocabulary.strip_first_space:
                expect(
                    matcher.fork().accept_string(text) == (token in allowed),
                    "bytes and mask disagree",
                    token,
                    text,
                )
        if not allowed:
            return  # the vocabulary cannot spell what comes next
        token = source.choice(sorted(allowed))
        expect(matcher.accept_token(token), "an allowed token is refused", token)
        walk.ids.append(token)
    masks = np.zeros((1, -(-vocabulary.size // 32)), np.int32)
    filled(matcher, masks)
