"""What is wrong with the arguments of a generation, said before transformers meets it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from transformers import GenerationConfig

from stackmask.grammar.source.options import ELSEWHERE
from stackmask.grammar.source.similar import similar
from stackmask.runtime.generation.errors import GenerationError

OURS: Final = (
    "max_new_tokens",
    "on_text",
    "progress",
    "seed",
    "jump",
    "vocabulary",
    "compiler",
    "chat_options",
)


def check_sources(model: Any, tokenizer: Any) -> None:
    """Check that there is a model and a tokenizer, in this order. Raises: GenerationError."""
    is_model = hasattr(model, "generate") and hasattr(model, "get_output_embeddings")
    is_tokenizer = callable(tokenizer) and not hasattr(tokenizer, "get_output_embeddings")
    if not is_model and hasattr(tokenizer, "get_output_embeddings"):
        raise GenerationError("the model comes first, and then the tokenizer: generate(model, tokenizer, …)")
    if not is_model:
        cure = (
            f": write AutoModelForCausalLM.from_pretrained({model!r:.60})" if isinstance(model, str) else ""
        )
        raise GenerationError(
            f"the model is {type(model).__name__}, not a model of transformers that generates{cure}"
        )
    if not is_tokenizer:
        cure = (
            f": write AutoTokenizer.from_pretrained({tokenizer!r:.60})" if isinstance(tokenizer, str) else ""
        )
        raise GenerationError(f"the tokenizer is {type(tokenizer).__name__}, not one of transformers{cure}")


def check_model_options(model: Any, options: Mapping[str, Any]) -> None:
    """Check that no option is a misspelt one. Those that nothing is like go to the model. Raises: GenerationError."""
    if not options:
        return
    elsewhere = ELSEWHERE["generate"]
    known = set(vars(GenerationConfig()))  # type: ignore[no-untyped-call]
    for call in (model.generate, model.forward):
        known |= set(inspect.signature(call).parameters)
    for name in options:
        if name in elsewhere:
            raise GenerationError(f"generate has no option `{name}`; write {elsewhere[name]}")
        if name in known:
            continue
        close = similar(name, sorted({*known, *OURS}))
        if close:
            raise GenerationError(f"generate has no option `{name:.60}`; did you mean `{close}`?")


def as_chat_options(options: Any) -> dict[str, Any]:
    """Return the options of a chat template as a dict. Raises: GenerationError if they are none."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise GenerationError(
            f'chat_options is {type(options).__name__}, must be a dict such as {{"enable_thinking": False}}'
        )
    return dict(options)
