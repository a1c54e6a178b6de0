"""The embedded model: it answers questions about the bundled shop database in SQL.

It is trained by ``PYTHONPATH=lab python -m training`` in the repository; docs/embedded-model.md describes its
abilities.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.extras import require

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

__all__ = [
    "EmbeddedModelError",
    "bundled_database",
    "load_embedded",
    "prompt_for",
]

FOLDER = Path(__file__).resolve().parent
END, PAD = "<|endoftext|>", "<|pad|>"
MAX_QUESTION = 400  # characters: beyond it nothing of the training data is left to compare with
_threads = threading.local()  # of PyTorch, where the model was called


class EmbeddedModelError(StackmaskError):
    """The embedded model's files are missing, or the question is invalid."""


def bundled_database() -> Path:
    """Return the path of the bundled SQLite database, a shop, on which the model was trained.

    Raises: EmbeddedModelError if the file is missing.
    """
    return _file("shop.sqlite")


def prompt_for(question: str) -> str:
    """Return the prompt that the embedded model continues with SQL: the question about the shop, on one line.

    Raises: EmbeddedModelError for an empty question, or one longer than ``MAX_QUESTION`` characters.
    """
    line = " ".join(question.split())  # mutant: question-line
    if not line:
        raise EmbeddedModelError("the question is empty")
    if len(line) > MAX_QUESTION:
        raise EmbeddedModelError(
            f"the question has {len(line)} characters; the model reads at most {MAX_QUESTION}"
        )
    return line + "\n"


def load_embedded() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """Return (model, tokenizer): float32 on the CPU, in evaluation mode.

    A call of the model uses one thread, regardless of ``torch.set_num_threads``, which is restored
    afterwards: the model is so small that more threads would only wait for each other, especially on a busy
    machine.

    Raises: MissingExtraError without the extra ``hf``; EmbeddedModelError if a file is missing.
    Cost: the import of transformers; the files themselves load in milliseconds.
    """
    weights = _file("model.safetensors")
    configuration = _file("config.json")
    tokenizer = load_embedded_tokenizer()
    with require("hf"):
        import torch
        from safetensors.torch import load_file
        from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(**json.loads(configuration.read_text(encoding="utf-8")))
    model = LlamaForCausalLM(config).float()  # type: ignore[no-untyped-call]
    state = {name: weight.to(torch.float32) for name, weight in load_file(weights).items()}
    # the input embedding is also the output matrix, and is stored once
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state)
    model.register_forward_pre_hook(_take_one_thread)
    model.register_forward_hook(_give_threads_back, always_call=True)
    return model.eval(), tokenizer


def _take_one_thread(*_: object) -> None:
    import torch

    _threads.count = torch.get_num_threads()
    if _threads.count != 1:  # else another thread may have set that, and sets it back
        torch.set_num_threads(1)


def _give_threads_back(*_: object) -> None:
    import torch

    if _threads.count != 1:
        torch.set_num_threads(_threads.count)


def load_embedded_tokenizer() -> PreTrainedTokenizerFast:
    """Return only the tokenizer, without importing PyTorch.

    Raises: as ``load_embedded``.
    """
    vocabulary = _file("tokenizer.json")
    with require("hf"):
        from transformers import PreTrainedTokenizerFast
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_file=str(vocabulary),
        eos_token=END,
        pad_token=PAD,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def _file(name: str) -> Path:
    path = FOLDER / name
    if not path.is_file():
        raise EmbeddedModelError(
            f"{path.name} of the embedded model is missing; `PYTHONPATH=lab python -m training` makes it"
        )
    return path
