"""Load the model that a command line names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackmask.runtime.embedded import load_embedded
from stackmask.runtime.extras import require
from stackmask.runtime.generation.errors import GenerationError


def load_model(name: str | None, *, reading: bool = False) -> tuple[Any, Any]:
    """Return (model, tokenizer): the embedded ones without a name, else those of a transformers model.

    ``reading``: of the embedded ones, those that read a schema from the prompt.

    Raises: MissingExtraError without the extra ``hf``; GenerationError if there is no such model.
    """
    with require("hf"):
        import torch
        import transformers  # noqa: F401  # both are there: what follows needs them, but not all of their parts
    if name is None:
        torch.set_num_threads(1)  # with four million weights, threads cost more than they save
        return load_embedded(reading=reading)
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise GenerationError(f"no such folder of a model: {name}")
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model: Any = AutoModelForCausalLM.from_pretrained(name, dtype="auto")
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise GenerationError(f"cannot load the model {name}: {first}") from None
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


def load_tokenizer(name: str | None) -> Any:
    """Return the embedded tokenizer without a name, else that of a transformers model.

    Raises: MissingExtraError without the extra ``hf``; GenerationError if there is no such model.
    """
    if name is None:
        return load_embedded()[1]
    with require("hf"):
        from transformers import AutoTokenizer
    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise GenerationError(f"cannot load the tokenizer of {name}: {first}") from None
