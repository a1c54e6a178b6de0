"""The tokenizers of the data pack: published digests, recorded encodings, and what ``tokenizers`` decodes."""

from __future__ import annotations

import json
import lzma
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.campaign import mostly_campaign
from support.datapack import datapack, needs_datapack
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

VERIFIED = (
    "gpt2-50k",
    "llama3-128k",
    "llama4-200k",
    "mistral-tekken-131k",
    "mistral-v1-spm-32k",
    "o200k-harmony",
    "qwen3-151k",
)
ANY_TEXT = r"root ::= [\x00-\U0010FFFF]*"

pytestmark = needs_datapack


def folder(name: str) -> Path:
    pack = datapack()
    assert pack is not None
    return pack / "tokenizers" / name


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Any, dict[str, Any]]:
    packed = (folder(name) / "tokenizer.json.xz").read_bytes()
    tokenizer = Tokenizer.from_str(lzma.decompress(packed).decode())
    config = json.loads((folder(name) / "tokenizer_config.json").read_text())
    config.pop("tokenizer_class")
    meta = json.loads((folder(name) / "META.json").read_text())
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **config), meta


@pytest.mark.parametrize("name", mostly_campaign(VERIFIED, 1))
def test_digest_and_recorded_encodings(name: str) -> None:
    tokenizer, meta = load(name)
    vocab = Vocabulary.from_huggingface(tokenizer, size=meta.get("model_vocab_padded"))
    assert vocab.digest() == meta["token_bytes_sha256"]
    assert len(vocab.tokens) == meta["vocab_size"]
    assert vocab.strip_first_space == (name == "mistral-v1-spm-32k")
    assert set(meta["stop_tokens"]) <= set(vocab.special_names)

    compiled = Compiler(vocab).compile(Grammar.from_ebnf(ANY_TEXT))
    mask = allocate_token_bitmask(1, vocab.size)
    normalise = name == "qwen3-151k"  # its tokenizer composes characters (NFC) before it encodes
    with (folder(name) / "encode_vectors.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            text = unicodedata.normalize("NFC", row["text"]) if normalise else row["text"]
            assert vocab.decode(row["ids"]) == text.encode()
            matcher = compiled.matcher()
            for token in row["ids"]:
                assert matcher.accept_token(token), (text, matcher.refusal)
            assert matcher.is_accepting()
    matcher.fill_next_token_bitmask(mask)
    allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
    assert set(vocab.stop_ids) <= set(allowed.tolist()) <= {*vocab.text_ids.tolist(), *vocab.stop_ids}


@pytest.mark.campaign
def test_gemma_equals_what_tokenizers_decodes() -> None:
    tokenizer, meta = load("gemma3-262k")
    vocab = Vocabulary.from_huggingface(tokenizer)
    assert len(vocab.tokens) == meta["vocab_size"]
    assert not vocab.strip_first_space
    backend = tokenizer.backend_tokenizer
    for i, token in enumerate(vocab.tokens):
        if token is None:
            assert backend.get_added_tokens_decoder()[i].special
        else:
            shown = token.decode(errors="replace")  # a lone byte of a character is shown as U+FFFD
            assert backend.decode([i], skip_special_tokens=False) == shown, i
