"""A vocabulary of a few thousand tokens, made of the bundled samples: for tests without any tokenizer."""

from __future__ import annotations

from collections import Counter

from judges.samples import NAMES, load_samples

from stackmask.runtime.vocabulary.vocabulary import Vocabulary

MAX_LENGTH = 8
SIZE = 3000


def sample_vocabulary(size: int = SIZE) -> Vocabulary:
    """Return all bytes, the most frequent substrings of the accepted samples, and a stop token.

    Some tokens repeat, as in real vocabularies, and many end inside a keyword, a string or a character.
    """
    counts: Counter[bytes] = Counter()
    for name in NAMES:
        for sample in load_samples(name):
            if sample.accepted:
                for length in range(2, MAX_LENGTH + 1):
                    for start in range(len(sample.data) - length + 1):
                        counts[sample.data[start : start + length]] += length
    texts = [text for text, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:size]]
    repeated = texts[: size // 50]
    tokens: list[bytes | None] = [*(bytes([b]) for b in range(256)), *texts, *repeated, None]
    return Vocabulary(tokens, stop_ids=[len(tokens) - 1])
