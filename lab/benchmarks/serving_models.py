"""Tiny models for whole engines of servers, in the form of a Hugging Face cache: real tokenizers, made-up weights.

Each draws every token from one distribution, in which what ends texts is likely: quotes, brackets, the end of a thought
and the stop token. Random weights wander until ``max_tokens`` instead, and nothing would be judged. After some tokens the
distribution may be another one, so that a model says what a test expects.
"""

from __future__ import annotations

import json
import lzma
import os
from pathlib import Path
from typing import Any, Final

COMMIT: Final = "0" * 40
CHATML: Final = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# tokens that servers look for, added where a tokenizer has none
MARKS: Final = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
# logits of tokens by their text; others are letters, 0, or what is rare
CLOSERS: Final = ('"', "}", "]", '"}', '"]', '"]}', "}}")
JOINERS: Final = (",", ":", "{", "[", '":', '","')
STRANGE: Final = -4.0
NEVER: Final = -25.0
# for vLLM's tests that generate: what is likely, and what is after some tokens, as the tokenizers name them
LIKELY: Final = {'"': 13.0, "1": 12.0}
AFTER: Final = {
    "1": {"@": 13.0, ",": 12.9, "}": 12.9, "]": 12.9, ".": 12.8, "1": 0.0},
    ".": {"com": 14.0},
}
AFTER_QWEN: Final = {**AFTER, "Ġstart": {"hello": 15.0}}
AFTER_LLAMA: Final = {**AFTER, "Ġ": {"12": 16.0}, "12": {",": 16.0}, ",": {"742": 16.0}}


def tokenizer_of(name: str, marks: tuple[str, ...] = (), *, readable: bool = False) -> Any:
    """Read a tokenizer of STACKMASK_DATA, with tokens added that it lacks.

    ``readable``: marks of thoughts and calls stay in texts, as with real models; SGLang's parsers look for them there.
    """
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    data = os.environ.get("STACKMASK_DATA")
    if data is None:
        raise SystemExit("set STACKMASK_DATA to a folder with tokenizers")
    folder = Path(data) / "tokenizers" / name
    read = Tokenizer.from_str(lzma.decompress((folder / "tokenizer.json.xz").read_bytes()).decode())
    config = {}
    if (folder / "tokenizer_config.json").exists():
        config = json.loads((folder / "tokenizer_config.json").read_text())
        config.pop("tokenizer_class", None)
    else:
        config = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=read, **config)
    missing = [mark for mark in marks if mark not in tokenizer.get_vocab()]
    for mark in missing:
        tokenizer.add_tokens([mark], special_tokens=mark.startswith("<|") or not readable)
    if marks or not tokenizer.chat_template:
        tokenizer.chat_template = CHATML
    return tokenizer


def logits_of(tokenizer: Any, width: int, likely: dict[str, float]) -> Any:
    """Return the one distribution of a model; ``likely`` gives the logits of special tokens by their text."""
    import torch

    logits = torch.full((width,), STRANGE)
    logits[len(tokenizer) :] = NEVER
    special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    for token in range(len(tokenizer)):
        text = tokenizer.decode([token])
        plain = len(text) == 1 and text.isascii() and text.isprintable()
        if token in special or not text.strip():
            logits[token] = NEVER
        elif text in CLOSERS:
            logits[token] = 9.0
        elif text in JOINERS:
            logits[token] = 4.0
        elif plain and not text.isalpha():
            logits[token] = 6.0
        elif text.isascii() and text.isalpha():
            logits[token] = 0.0
    logits[tokenizer.eos_token_id] = likely.get("end", 14.0)
    for text, value in likely.items():
        if text != "end":
            logits[tokenizer.convert_tokens_to_ids(text)] = value
    return logits


def make_model(
    hub: Path,
    repository: str,
    tokenizer: Any,
    likely: dict[str, float] | None = None,
    size: int = 32,
    after: dict[str, dict[str, float]] | None = None,
) -> Path:
    """Write a model into a cache under the name of a repository; return its folder.

    ``after``: tokens, fewer than ``size``, and the logits that are others after them.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

    folder = hub / ("models--" + repository.replace("/", "--"))
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(COMMIT)
    snapshot = folder / "snapshots" / COMMIT
    width = (len(tokenizer) + 63) // 64 * 64
    config = AutoConfig.for_model(
        "llama",
        vocab_size=width,
        hidden_size=size,
        intermediate_size=2 * size,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=4096,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
        tie_word_embeddings=False,
    )
    model = AutoModelForCausalLM.from_config(config).float()
    usual = logits_of(tokenizer, width, likely or {})
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.fill_(1.0 if "norm" in name else 0.0)
        inputs, outputs = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        # the last norm makes the one value sqrt(size)
        inputs[:, 0] = 1.0
        outputs[:, 0] = usual / size**0.5
        for place, (text, changed) in enumerate((after or {}).items(), start=1):
            inputs[tokenizer.convert_tokens_to_ids(text), 0] = 0.0
            inputs[tokenizer.convert_tokens_to_ids(text), place] = 1.0
            logits = usual.clone()
            for following, value in changed.items():
                logits[tokenizer.convert_tokens_to_ids(following)] = value
            outputs[:, place] = logits / size**0.5
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id)
    model.save_pretrained(snapshot)
    tokenizer.save_pretrained(str(snapshot))
    return snapshot


def upstream_models(hub: Path) -> Path:
    """Make the models that vLLM's tests ask for, each of its own tokenizer."""
    for repositories, name, after in (
        (("gpt2", "openai-community/gpt2", "facebook/opt-125m"), "gpt2-50k", AFTER),
        (("Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "Qwen/Qwen2.5-1.5B-Instruct"), "qwen3-151k", AFTER_QWEN),
        (("meta-llama/Meta-Llama-3.1-8B-Instruct",), "llama3-128k", AFTER_LLAMA),
    ):
        tokenizer = tokenizer_of(name)
        for repository in repositories:
            likely = {**LIKELY, "</think>": 14.5} if "Qwen3-" in repository else LIKELY
            make_model(hub, repository, tokenizer, likely, after=after)
    return hub
