"""Load the model that a command line names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackmask.runtime.embedded import load_embedded, load_embedded_tokenizer
from stackmask.runtime.extras import require
from stackmask.runtime.generation.errors import GenerationError


def refuse_missing_folder(name: str | None) -> None:
    """Refuse a name that is the path of a folder, where there is none: a hub would only say that it is no name of its own.

    Raises: GenerationError.
    """
    if name is None:
        return
    is_path = name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1
    path = Path(name)
    if is_path and not path.is_dir():
        what = "it is a file" if path.is_file() else "there is no such folder"
        raise GenerationError(
            f"cannot load the model {name}: {what}; --model takes a folder, or a name of the hub (owner/model)"
        )
    if path.is_dir() and not (path / "config.json").is_file():
        raise GenerationError(f"cannot load the model {name}: the folder has no config.json")


def load_model(name: str | None, *, reading: bool = False) -> tuple[Any, Any]:
    """Return (model, tokenizer): the embedded ones without a name, else those of a transformers model.

    ``reading``: of the embedded ones, those that read a schema from the prompt.

    Raises: MissingExtraError without the extra ``hf``; GenerationError if there is no such model.
    """
    refuse_missing_folder(name)
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
        return load_embedded_tokenizer()
    with require("hf"):
        from transformers import AutoTokenizer
    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise GenerationError(f"cannot load the tokenizer of {name}: {first}") from None
