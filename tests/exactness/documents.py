"""Real documents and real tokenizers: compare engine and oracle at sampled positions.

The oracle is too slow for 128,000 tokens a position. It tries a random sample of them, and all that the
engine allows up to a cap: so too narrow masks show in the first, too wide ones in both.
"""

from __future__ import annotations

import itertools
import json
import lzma
import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from judges.samples import load_samples
from oracle.earley import Recognizer
from oracle.masks import brute_force_mask
from support.datapack import datapack
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

import stackmask
from exactness.walks import Mismatch, engine_mask

TOKENIZERS = (
    "llama3-128k",
    "mistral-v1-spm-32k",
    "qwen3-151k",
    "mistral-tekken-131k",
    "gpt2-50k",
    "o200k-harmony",
    "llama4-200k",
    "gemma3-262k",
)
GRAMMARS = ("json", "sql", "regex", "arithmetic", "csv", "xml", "lua", "indented")
SHORTEST, LONGEST = 20, 600  # bytes of a document


@lru_cache(maxsize=1)
def load_tokenizer(name: str) -> tuple[Any, stackmask.Vocabulary]:
    """Return a tokenizer of the data pack and its vocabulary, as wide as the model's logits."""
    pack = datapack()
    assert pack is not None
    folder = pack / "tokenizers" / name
    backend = Tokenizer.from_str(lzma.decompress((folder / "tokenizer.json.xz").read_bytes()).decode())
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.pop("tokenizer_class")
    meta = json.loads((folder / "META.json").read_text())
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **config)
    size = meta.get("model_vocab_padded")
    return tokenizer, stackmask.Vocabulary.from_huggingface(tokenizer, size=size)


def documents(grammar: str) -> Iterator[bytes]:
    """Yield texts that may be in the language of a bundled grammar: the repository's and the data pack's."""
    yield from (s.data for s in load_samples(grammar) if s.accepted)
    pack = datapack()
    assert pack is not None
    if grammar == "json":
        with lzma.open(pack / "maskbench_dev.jsonl.xz", "rt", encoding="utf-8") as lines:
            for line in itertools.islice(lines, 200):
                for test in json.loads(line)["tests"][:1]:
                    yield json.dumps(
                        test["data"], ensure_ascii=False, indent=random.choice((None, 2))
                    ).encode()
    elif grammar == "sql":
        for path in sorted((pack / "sql" / "spider").glob("*.json*")):
            if "schema" in path.name:
                continue
            text = path.read_text("utf-8")
            rows = (
                [json.loads(line) for line in text.splitlines()]
                if path.suffix == ".jsonl"
                else json.loads(text)
            )
            yield from (
                str(row[key]).encode() for row in rows for key in ("query", "sql", "gold") if key in row
            )
    elif grammar == "regex":
        with lzma.open(pack / "regex" / "jsonschemabench_patterns.jsonl.xz", "rt", encoding="utf-8") as lines:
            yield from (json.loads(line)["pattern"].encode() for line in itertools.islice(lines, 300))


class Checker:
    """Compare engine and oracle for one grammar and one tokenizer."""

    def __init__(self, grammar: str, tokenizer: str) -> None:
        self.name = f"{grammar} × {tokenizer}"
        self.tokenizer, self.vocabulary = load_tokenizer(tokenizer)
        self.compiled = stackmask.Compiler(self.vocabulary).compile(stackmask.Grammar.bundled(grammar))
        self.recognizer = Recognizer(self.compiled.grammar.rules)
        self.texts = list(self.vocabulary.tokens) + [None] * (
            self.vocabulary.size - len(self.vocabulary.tokens)
        )
        if self.vocabulary.strip_first_space:
            # the first token loses one space; a token that is only that means nothing, and is left out
            self.first_texts = [t[1:] if t and t[:1] == b" " else t for t in self.texts]
        else:
            self.first_texts = self.texts

    def check(
        self, document: bytes, rng: random.Random, positions: int, sample: int, cap: int
    ) -> tuple[int, int]:
        """Compare at some positions of a document; return how many positions and bits were compared."""
        matcher = self.compiled.matcher()
        ids = self.tokenizer.encode(document.decode(), add_special_tokens=False)
        chosen = set(rng.sample(range(len(ids) + 1), min(positions, len(ids) + 1)))
        column = self.recognizer.start()
        looked_at = bits = 0
        for position, token in enumerate([*ids, None]):
            texts = self.texts if position else self.first_texts
            if position in chosen:
                allowed = engine_mask(matcher, self.vocabulary.size)
                tried = set(rng.sample(range(self.vocabulary.size), sample))
                tried |= set(rng.sample(sorted(allowed), min(cap, len(allowed))))
                if texts is self.first_texts and self.vocabulary.strip_first_space:
                    tried -= {i for i in tried if self.texts[i] == b" "}
                tried |= set(self.vocabulary.stop_ids)
                expected = brute_force_mask(self.recognizer, [column], texts, self.vocabulary.stop_ids, tried)
                if (allowed & tried) != expected:
                    wrong = {i: self.texts[i] for i in (allowed & tried) ^ expected}
                    raise Mismatch(
                        f"{self.name}: after {column.text!r}: {dict(itertools.islice(wrong.items(), 9))}"
                    )
                looked_at += 1
                bits += len(tried)
            if token is None:
                break
            if not matcher.accept_token(token):
                if self.recognizer.run(texts[token] or b"", column).viable:
                    raise Mismatch(f"{self.name}: after {column.text!r}: token {token} refused")
                return looked_at, bits  # not a document of this grammar
            column = self.recognizer.run(texts[token] or b"", column)
            if not column.viable:
                raise Mismatch(f"{self.name}: {column.text!r} accepted")
        return looked_at, bits
