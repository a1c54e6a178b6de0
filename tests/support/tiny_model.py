"""A tiny random model, and a vocabulary for it: every byte, some longer tokens, some special ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

MERGES = ["tr", "ue", "true", '{"', '":', '"}', "ab", "aba", "12", "Ġa", ", ", "é"]
LOGITS = 320  # wider than the tokenizer


def make_tokenizer() -> Any:
    """A byte-level tokenizer without merges: its longer tokens are only ever generated."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, *(m.replace(" ", "Ġ").replace("é", "Ã©") for m in MERGES)]
    backend = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(
        [AddedToken(name, special=True) for name in ("<pad>", "<bos>", "<eos>", "<call>")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>"
    )


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return make_tokenizer()


def make_model(tokenizer: Any, seed: int) -> Any:
    config = LlamaConfig(
        vocab_size=LOGITS,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=2048,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="session")
def model(tokenizer: Any) -> Any:
    return make_model(tokenizer, 0)


@pytest.fixture(scope="session")
def assistant(tokenizer: Any) -> Any:
    return make_model(tokenizer, 1)


@pytest.fixture(scope="session")
def vocab(tokenizer: Any) -> Vocabulary:
    return Vocabulary.from_huggingface(tokenizer, size=LOGITS)


@pytest.fixture(scope="session")
def compiler(vocab: Vocabulary) -> Compiler:
    return Compiler(vocab)


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Make sampling repeatable, whatever order the tests run in; the models are too small for threads."""
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
