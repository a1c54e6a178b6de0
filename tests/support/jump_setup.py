"""What tests of jumping generation share: a tokenizer, small models, and a loop that reads everything anew."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessor,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    StoppingCriteria,
)

from stackmask.grammar.grammar import Grammar
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

LINES = [
    '{"name": "Ann", "kind": "cat", "size": 12, "tags": ["old", "new"]}',
    '{"name": "Bob", "kind": "catfish", "size": 7, "tags": []}',
    "name names nameless, a kind of fish; size and sizes",
] * 5
WIDTH = 420
SHEET = r"""
root ::= "{\"name\": \"" [A-Za-z]{1,6} "\", \"kind\": " ("\"cat\"" | "\"catfish\"") ", \"size\": " [0-9]{1,2} "}"
"""
LIST = r'root ::= "[\"old\", " ("\"new\"" | "\"names\"") ", \"fish\"]"'


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A tokenizer that was trained on a few lines."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<pad>", "<eos>", "<call>"],
    )  # fmt: skip
    backend.train_from_iterator(LINES, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", pad_token="<pad>")


def tiny(kind: str, **options: Any) -> Any:
    """Return a small model with random weights: Llama, Mistral with a window of six tokens, or Mamba."""
    common = {"vocab_size": WIDTH, "hidden_size": 32, "num_hidden_layers": 2, "bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}  # fmt: skip
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 32, "max_position_embeddings": 512}  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        if kind == "mamba":
            return MambaForCausalLM(MambaConfig(**common, state_size=4, **options)).eval()
        if kind == "mistral":
            return MistralForCausalLM(MistralConfig(**common, **heads, sliding_window=6, **options)).eval()
        return LlamaForCausalLM(LlamaConfig(**common, **{**heads, **options}, initializer_range=0.3)).eval()


@pytest.fixture(scope="module")
def model() -> Any:
    """A Llama with random weights."""
    return tiny("llama")


@pytest.fixture(scope="module")
def compiler(tokenizer: Any) -> Compiler:
    """The compiler of the vocabulary, wider than the tokenizer."""
    return Compiler(Vocabulary.from_huggingface(tokenizer, size=WIDTH))


def reference(
    model: Any,
    tokenizer: Any,
    compiler: Compiler,
    prompt: str,
    grammar: str,
    limit: int,
    most: int | None = None,
) -> list[int]:
    """Search greedily, one row, the whole text read anew for every token: nothing of the loop is used."""
    matcher = compiler.compile(Grammar.from_ebnf(grammar)).matcher()
    start = tokenizer(prompt)["input_ids"]
    ids: list[int] = []
    mask = torch.zeros(1, -(-WIDTH // 32), dtype=torch.int32)
    while len(ids) < limit:
        back, tokens = matcher.find_jump_forward_tokens([*start, *ids], max_rollback=most)
        if tokens:
            matcher.rollback(back)
            ids = [*ids[: len(ids) - back], *tokens][:limit]
            assert all(matcher.accept_token(token) for token in tokens)
            continue
        matcher.fill_next_token_bitmask(mask)
        allowed = [i for i in range(WIDTH) if (int(mask[0, i // 32]) >> (i % 32)) & 1]
        if allowed == [tokenizer.eos_token_id]:
            return ids
        with torch.no_grad():
            logits = model(torch.tensor([[*start, *ids]])).logits[0, -1]
        ids.append(max(allowed, key=lambda i: float(logits[i])))
        assert matcher.accept_token(ids[-1])
        if matcher.is_terminated():
            return ids[:-1]
    return ids


TAKES_BACK = 'root ::= ("nb" | "name") [;,]'
PROMPTS = ["a", "some longer prompt: names", "{"]


class Prefer(LogitsProcessor):  # type: ignore[misc]
    """Prefer one token wherever it is allowed."""

    def __init__(self, *tokens: int) -> None:
        self.tokens = list(tokens)

    def __call__(self, input_ids: Any, scores: torch.Tensor) -> torch.Tensor:
        scores = scores.clone()
        scores[:, self.tokens] += 1000.0
        return scores


class StopAt(StoppingCriteria):  # type: ignore[misc]
    """Stop each row once it has so many tokens."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> torch.Tensor:
        return torch.full((len(input_ids),), input_ids.shape[1] >= self.length)
