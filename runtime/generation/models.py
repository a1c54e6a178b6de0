"""Find the compiler for a model and its tokenizer, and cache it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from stackmask.grammar.outputs import is_choice
from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.matching.compiler import Compiler
from stackmask.runtime.vocabulary.vocabulary import Vocabulary

_lock = threading.Lock()
# tokenizer -> {(logit width, stop tokens, tokenizer size): compiler}
_compilers: weakref.WeakKeyDictionary[Any, dict[tuple[int | None, tuple[int, ...], int], Compiler]] = (
    weakref.WeakKeyDictionary()
)


def logit_width(model: Any) -> int:
    """Return the width of a model's logits, which may exceed its tokenizer's size."""
    weight = getattr(model.get_output_embeddings(), "weight", None)
    if weight is not None:
        return int(weight.shape[0])
    return int(model.config.get_text_config().vocab_size)


def compiler_for(model: Any, tokenizer: Any) -> Compiler:
    """Return the compiler for a tokenizer's vocabulary, as wide as the model's logits; created once and cached.

    ``model``: None if it is unknown.
    """
    size = None if model is None else logit_width(model)
    config = getattr(model, "generation_config", None)
    eos = getattr(config, "eos_token_id", None)
    stops = () if eos is None else tuple(eos) if isinstance(eos, list | tuple) else (int(eos),)
    try:
        key = (size, stops, len(tokenizer))
        weakref.ref(tokenizer)
    except TypeError:  # a tokenizer of another library
        return Compiler(Vocabulary.from_huggingface(tokenizer, size=size, generation_config=config))
    with _lock:
        made = _compilers.setdefault(tokenizer, {})
        if key not in made:
            made[key] = Compiler(Vocabulary.from_huggingface(tokenizer, size=size, generation_config=config))
        return made[key]


def compile_for(grammars: Any, tokenizer: Any) -> list[Any]:
    """Return the compiled grammars of a processor: one grammar, or a list with one or None for each prompt.

    Uncompiled grammars are compiled for the ``tokenizer``, if there is one; otherwise they are returned
    unchanged.
    Raises: GenerationError for strings that look like choices; as reading and compiling.
    """
    is_list = isinstance(grammars, Sequence) and not isinstance(grammars, str)
    listed = list(grammars) if is_list else [grammars]
    if tokenizer is None:
        return listed
    made: list[Any] = []
    for item in listed:
        if is_list and is_choice(item):
            raise GenerationError(
                f"{item!r:.60} is not a grammar: a list has one grammar per prompt, and a str is EBNF text; for choices, "
                "give Grammar.from_choices([…])"
            )
        is_ready = item is None or hasattr(item, "matcher")
        made.append(item if is_ready else compiler_for(None, tokenizer).compile(item))
    return made
