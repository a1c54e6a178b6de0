"""Masks of grammars of names, guards and calls over thousands of tokens: each token is tried."""

from __future__ import annotations

import itertools
import random

import pytest
from support.campaign import SCALE, mostly_campaign

import stackmask as sm
from exactness.walks import engine_mask

CHARACTERS = ["a", "b", "_", "(", ")", " ", ".", "é", "中", "=", "n", "o", "t"]
LETTERS = [c for c in CHARACTERS if c.isalpha() or c == "_"]
TEXTS = ['"not"', '"("', '"."', '" "', '"é"', '"a"', '"ab"', '"n"', '"="', '"中"']
CLASSES = ["[a-z_]", "[a-z_é]", "[a-z_\\u00c0-\\uffff]", "[a-z]", "[ab]", "[a-z_0-9é中]"]
GUARDS = [" !>> [a-z_]", " !>> [(]", " !>> [\\u00c0-\\uffff]", " !>> [ .]"]
NAMES = [
    "word",
    'word - reserved\nreserved ::= "not" | "ab" | "no"',
    "[a-z_]{1,7}",
    'word ("." word)*',
    "[ab_] word?",
]


def make_tokens(seed: int) -> list[bytes]:
    """Return the bytes, words of up to four letters, and other strings, some of which end inside of a character."""
    rng = random.Random(f"v{seed}")
    found: set[bytes] = set()
    for length in range(1, 5):
        words = list(itertools.product(LETTERS, repeat=length))
        found.update("".join(word).encode() for word in rng.sample(words, min(len(words), 1500)))
    for _ in range(2500):
        letters = (rng.choice(rng.choice((CHARACTERS, LETTERS))) for _ in range(rng.randint(2, 8)))
        text = "".join(letters).encode()
        if rng.random() < 0.2:
            text = text[: rng.randint(1, len(text))]
        if rng.random() < 0.1:
            text = text[rng.randint(0, len(text) - 1) :]
        found.add(text)
    return [bytes([b]) for b in range(256)] + [text for text in sorted(found) if len(text) > 1]


def make_grammar(rng: random.Random) -> str:
    large = [f"h{k}" for k in range(rng.choice([0, 0, 3, 8, 9, 12]))]
    rules = [f"r{k}" for k in range(rng.randint(2, 4))]
    letters = rng.choice(CLASSES)
    expression = "expr" if large else "name"

    def item(depth: int) -> str:
        kinds = (["name", "word"], TEXTS, [expression], rules, [letters])
        if depth and rng.random() < 0.2:
            return f"({choice(depth - 1)})" + rng.choice(["", "?", "*", "", "+"])
        return str(rng.choice(rng.choices(kinds, (7, 3, 2, 3, 1))[0]))

    def choice(depth: int) -> str:
        def one() -> str:
            items = range(rng.randint(1, 3))
            return " ".join(item(depth) + (rng.choice(GUARDS) if rng.random() < 0.25 else "") for _ in items)

        return " | ".join(one() for _ in range(rng.randint(1, 3)))

    root = rng.choice(["name", expression, rng.choice(rules)])
    end = rng.choice(['"."', "name", "", expression])
    lines = [f"root ::= {root} ({choice(2)})* {end}"]
    lines += [f"word ::= {letters}+", f"name ::= {rng.choice(NAMES)}"]
    for rule in rules:
        begin = rng.choice(['"("', '"n"', "name", "word"])
        lines.append(f'{rule} ::= {begin} {choice(1)} | "=" word')
    if large:
        lines.append(f"expr ::= ({' | '.join(large)}) {rng.choice(['', 'name?', 'expr?'])}")
        for rule in large:
            then = rng.choice(["", "name", "word?", 'expr ")"', "expr?"])
            lines.append(f'{rule} ::= "{rng.choice(CHARACTERS)}" {then}')
    return "\n".join(lines)


def check(
    grammar: sm.Grammar, compiler: sm.Compiler, tokens: list[bytes], rng: random.Random, steps: int
) -> int:
    """Compare the masks along a random walk with what the matcher accepts; return their number."""
    matcher = compiler.compile(grammar).matcher()
    written = b""
    for step in range(steps):
        found = engine_mask(matcher, len(tokens) + 1)
        wanted = {token for token in range(len(tokens) + 1) if matcher.fork().accept_token(token)}
        assert found == wanted, (grammar.dump(), written, [tokens[token] for token in found ^ wanted][:5])
        allowed = sorted(
            (token for token in found if token < len(tokens)), key=lambda token: len(tokens[token])
        )
        if not allowed:
            return step + 1
        token = rng.choice(allowed if rng.random() < 0.5 else allowed[: 1 + len(allowed) // 8])
        written += tokens[token]
        assert matcher.accept_token(token)
    return steps


def compiler_of(tokens: list[bytes], **options: int) -> sm.Compiler:
    return sm.Compiler(sm.Vocabulary([*tokens, None], stop_ids=[len(tokens)]), **options)


@pytest.mark.parametrize(
    ("seed", "source"),
    [
        # a guard forbids what comes after each alternative with the same prefix
        (126, 'root ::= "(" ("" !>> [a-z_] | [ab]+ !>> [a-z_]) [ab] | ""'),
        # an excluded word, and a longer run that begins with it
        (520, 'root ::= "中" name word "not" | word\nword ::= [ab]+\nname ::= word - "ab"'),
        (520, 'root ::= "中" name tail "not" | word\nword ::= [ab]+\nname ::= word - "ab"\ntail ::= [ab]*'),
    ],
)
def test_a_prefix_and_what_comes_after_it(seed: int, source: str) -> None:
    tokens = make_tokens(seed)
    for walk in range(3):
        check(sm.Grammar.from_ebnf(source), compiler_of(tokens), tokens, random.Random(walk), 4)


@pytest.mark.parametrize("seed", mostly_campaign(range(8 * SCALE), 1))
def test_random_names(seed: int) -> None:
    rng = random.Random(seed)
    tokens = make_tokens(seed)
    compiler = compiler_of(tokens, **({"cache_bytes": 3_000_000} if seed % 2 else {}))
    masks = tries = 0
    while masks < 100:
        tries += 1
        assert tries <= 400
        try:
            grammar = sm.Grammar.from_ebnf(make_grammar(rng))
            masks += sum(check(grammar, compiler, tokens, rng, 6) for _ in range(2))
        except sm.GrammarError:  # most have rules without a string
            continue
