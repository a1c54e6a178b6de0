"""Texts that are nearly in a language: samples with pieces left out, put in, replaced and repeated."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

PIECE_LENGTHS = (1, 2, 3, 5)
MAX_CHANGES = 3


def byte_mutants(texts: Sequence[bytes], count: int, rng: random.Random) -> Iterator[bytes]:
    """Yield ``count`` well-formed UTF-8 mutants of the texts; the pieces put in come from the texts."""
    pieces = [t[i : i + n] for t in texts for n in PIECE_LENGTHS for i in range(0, len(t), 7)]
    made = 0
    while made < count:
        text = bytearray(rng.choice(texts))
        for _ in range(rng.randint(1, MAX_CHANGES)):
            at = rng.randrange(len(text) + 1)
            change = rng.randrange(4)
            if change == 0:
                del text[at : at + rng.randint(1, 3)]
            elif change == 1:
                text[at:at] = rng.choice(pieces)
            elif change == 2:
                text[at : at + 1] = rng.choice(pieces)
            else:
                start = rng.randrange(len(text) + 1)
                text[at:at] = text[start : start + rng.randint(1, 7)]
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            continue
        made += 1
        yield bytes(text)
