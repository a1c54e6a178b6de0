"""Encoders, which convert text to token ids for jump-forward, for any tokenizer."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackmask.pda.errors import VocabularyError

Encode = Callable[[str], Sequence[int]]

# normalisers that leave plain text as it is, but for what the vocabulary's bytes undo again (blanks as `▁`)
_FAITHFUL = frozenset({"Prepend", "Replace", "ByteLevel"})

MAX_REMEMBERED = 1 << 14  # short texts, some 200 bytes each


@dataclass(frozen=True, slots=True)
class Encoder:
    """``encode(text)`` returns the ids of a text, without adding special tokens.

    ``composes``: the tokenizer may join the last character of a text with the following text, as NFC does.
    ``looks_around``: a token may depend on the character after it (whole words only).
    """

    encode: Encode
    composes: bool = False
    looks_around: bool = False
    remembered: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)

    def encode_short(self, text: str) -> Sequence[int]:
        """Encode a text of a few words, and cache the result: since grammars often need the same ones."""
        ids = self.remembered.get(text)
        if ids is None:
            ids = tuple(self.encode(text))
            if len(self.remembered) >= MAX_REMEMBERED:
                self.remembered.clear()
            self.remembered[text] = ids
        return ids


def encoder_of(tokenizer: Any) -> Encoder:
    """Return the encoder of a tokenizer: transformers (fast or slow), ``tokenizers``, tiktoken, SentencePiece.

    A function from text to ids is returned unchanged. A fast tokenizer's backend is kept alive, other
    tokenizers have only a weak reference.
    Raises: VocabularyError for any other object.
    """
    if isinstance(tokenizer, Encoder):
        return tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(backend, "get_vocab_size") and hasattr(backend, "encode_batch"):

        def encode_backend(text: str) -> Sequence[int]:
            ids: Sequence[int] = backend.encode(text, add_special_tokens=False).ids
            return ids

        added = backend.get_added_tokens_decoder().values()
        return Encoder(
            encode_backend,
            composes=_composes(backend.normalizer),
            looks_around=any(token.single_word for token in added),
        )
    if hasattr(tokenizer, "encode_ordinary"):  # tiktoken
        return Encoder(tokenizer.encode_ordinary)
    if hasattr(tokenizer, "id_to_piece"):  # SentencePiece
        return Encoder(tokenizer.encode, composes=True)
    if hasattr(tokenizer, "encode") and hasattr(tokenizer, "convert_tokens_to_ids"):
        # the tokenizer may be the key under which its own vocabulary is kept
        held = weakref.ref(tokenizer)

        def encode_slow(text: str) -> Sequence[int]:
            alive = held()
            ids: Sequence[int] = () if alive is None else alive.encode(text, add_special_tokens=False)
            return ids

        return Encoder(encode_slow, composes=True)
    if callable(tokenizer):
        return Encoder(tokenizer, composes=True)
    raise VocabularyError(
        f"{type(tokenizer).__name__} cannot encode text: give a tokenizer of transformers, tokenizers, tiktoken or "
        "SentencePiece, or a function from text to ids"
    )


def _composes(normalizer: Any) -> bool:
    if normalizer is None:
        return False
    state = json.loads(normalizer.__getstate__())
    parts = state["normalizers"] if state.get("type") == "Sequence" else [state]
    return any(part.get("type") not in _FAITHFUL for part in parts)
