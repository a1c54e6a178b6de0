"""The tokenizers of the comparison: of the data pack, or else one made of the repository's own text."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import stackmask as sm

FOLDERS = {"large": "llama3-128k", "small": "mistral-v1-spm-32k", "marked": "qwen3-151k"}
PIECES = 3000  # tokens of the one that is made
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>")


@dataclass(frozen=True)
class Tokens:
    """A vocabulary, and what writes a text in its tokens."""

    vocabulary: sm.Vocabulary
    encode: Callable[[str], list[int]]

    def ids(self, text: str | bytes) -> list[int]:
        """Return the tokens of a text. Bytes that are no UTF-8 are written as the tokens of their beginning."""
        return self.encode(text.decode(errors="ignore") if isinstance(text, bytes) else text)


def load(name: str, data: Path | None, repository: Path) -> Tokens:
    """Return a tokenizer by its role: large, small, marked (calls of tools have special tokens) or letters."""
    if name == "letters":
        return _letters()
    if data is None:
        return _made(repository, name == "marked")
    return _of_pack(data / "tokenizers" / FOLDERS[name])


@lru_cache(maxsize=4)
def _of_pack(folder: Path) -> Tokens:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    written = Tokenizer.from_str(lzma.decompress((folder / "tokenizer.json.xz").read_bytes()).decode())
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    config.pop("tokenizer_class", None)
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=written, **config)
    vocabulary = sm.Vocabulary.from_huggingface(tokenizer)
    return Tokens(vocabulary, lambda text: written.encode(text, add_special_tokens=False).ids)


@lru_cache(maxsize=4)
def _made(repository: Path, marked: bool) -> Tokens:
    """Make tokens of single bytes and of the commonest words of the grammars that the repository ships."""
    words: Counter[str] = Counter()
    for path in sorted((repository / "grammars").glob("*.ebnf")):
        for word in re.findall(r" ?[^\W\d_]+|\d|[^\w\s]{1,3}", path.read_text("utf-8")):
            words.update(word[:end] for end in range(2, min(len(word), 12) + 1))
    common = sorted(words, key=lambda word: (-words[word], word))[:PIECES]
    pieces = [bytes([i]) for i in range(256)] + [word.encode() for word in common]
    number = {piece: i for i, piece in reversed(list(enumerate(pieces)))}
    markers = MARKERS if marked else ()
    names = {marker: len(pieces) + 1 + i for i, marker in enumerate(markers)}
    vocabulary = sm.Vocabulary(
        [*pieces, None, *(None for _ in markers)], stop_ids=[len(pieces)], special_names=names
    )
    longest = max(map(len, pieces))

    def encode(text: str) -> list[int]:
        data, ids = text.encode(errors="surrogatepass"), []
        while data:
            size = next(n for n in range(min(longest, len(data)), 0, -1) if data[:n] in number)
            ids.append(number[data[:size]])
            data = data[size:]
        return ids

    return Tokens(vocabulary, encode)


@lru_cache(maxsize=1)
def _letters() -> Tokens:
    """Make few tokens, many of which cross the ends of terminals: for random grammars."""
    rng = random.Random("letters")
    alphabet = [letter.encode() for letter in "abcd01 éü€"]
    pieces = [bytes([i]) for i in range(256)]
    pieces += sorted({b"".join(rng.choices(alphabet, k=rng.randint(2, 6))) for _ in range(700)})
    pieces += [text[:-1] for text in alphabet if len(text) > 1]
    vocabulary = sm.Vocabulary(
        [*pieces, None, None, None],
        stop_ids=[len(pieces)],
        special_names={"<|x|>": len(pieces) + 1, "<|y|>": len(pieces) + 2},
    )
    return Tokens(vocabulary, lambda text: list(text.encode()))
