"""Mutants of SQL statements: a token or two left out, doubled, put in, swapped or replaced, blanks taken out."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence

TOKEN = re.compile(
    r"""\s+|'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\$\$.*?\$\$|[A-Za-z_]\w*|\d+(?:\.\d+)?|::|:=|=>"""
    r"""|[-+*/<>=~!@#%^&|?]+|.""",
    re.DOTALL,
)
LONGEST = 160  # tokens
COMMON = 3  # words that occur more often are put in


def mutants(statements: Sequence[str], count: int, rng: random.Random) -> Iterator[str]:
    """Yield so many mutants of these statements; some are equal to one of them."""
    lists = [TOKEN.findall(statement) for statement in statements]
    lists = [tokens for tokens in lists if 4 < len(tokens) < LONGEST]
    counts = Counter(token for tokens in lists for token in tokens if not token.isspace())
    words = sorted(word for word, times in counts.items() if times > COMMON)
    for _ in range(count):
        tokens = list(rng.choice(lists))
        for _ in range(rng.choice((1, 1, 1, 2))):
            _mutate(tokens, words, lists, rng)
        text = "".join(tokens)
        if "\0" not in text:
            yield text


def _mutate(tokens: list[str], words: list[str], lists: list[list[str]], rng: random.Random) -> None:
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not places:
        return
    i, j = rng.choice(places), rng.choice(places)
    match rng.choice(("drop", "double", "replace", "replace", "insert", "swap", "graft", "join")):
        case "drop":
            del tokens[i]
        case "double":
            tokens.insert(i, f" {tokens[i]} ")
        case "replace":
            tokens[i] = rng.choice(words)
        case "insert":
            tokens.insert(i, f" {rng.choice(words)} ")
        case "swap":
            tokens[i], tokens[j] = tokens[j], tokens[i]
        case "graft":
            other = rng.choice(lists)
            start = rng.randrange(len(other))
            tokens[i:i] = [" ", *other[start : start + rng.randrange(1, 6)], " "]
        case _:
            blanks = [k for k, token in enumerate(tokens) if token.isspace()]
            if blanks:
                del tokens[rng.choice(blanks)]
