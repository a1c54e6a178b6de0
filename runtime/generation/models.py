"""Find the compiler that belongs to a model and its tokenizer, and keep it."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

_lock = threading.Lock()
# tokenizer -> {(logit width, stop tokens, tokenizer size): compiler}
_compilers: weakref.WeakKeyDictionary[Any, dict[tuple[int, tuple[int, ...], int], Compiler]] = (
    weakref.WeakKeyDictionary()
)


def logit_width(model: Any) -> int:
    """Return the width of a model's logits, which may exceed its tokenizer's size."""
    weight = getattr(model.get_output_embeddings(), "weight", None)
    if weight is not None:
        return int(weight.shape[0])
    return int(model.config.get_text_config().vocab_size)


def compiler_for(model: Any, tokenizer: Any) -> Compiler:
    """Return the compiler for a tokenizer's vocabulary, as wide as the model's logits; made once and kept."""
    config = getattr(model, "generation_config", None)
    eos = getattr(config, "eos_token_id", None)
    stops = () if eos is None else tuple(eos) if isinstance(eos, list | tuple) else (int(eos),)
    key = (logit_width(model), stops, len(tokenizer))
    with _lock:
        made = _compilers.setdefault(tokenizer, {})
        if key not in made:
            made[key] = Compiler(
                Vocabulary.from_huggingface(tokenizer, size=key[0], generation_config=config)
            )
        return made[key]
