"""The model that comes with stackmask: it answers questions about the bundled shop database in SQL.

It is made by ``PYTHONPATH=lab python -m training`` in the repository; docs/embedded-model.md tells what it can do.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.runtime.extras import require

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

__all__ = [
    "EmbeddedModelError",
    "bundled_database",
    "bundled_names",
    "can_read",
    "load_embedded",
    "prompt_for",
]

FOLDER = Path(__file__).resolve().parent
END, PAD = "<|endoftext|>", "<|pad|>"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DATABASES = ("shop", "museum")  # the first is the one that the model was trained on
CONTEXT = 512  # tokens that the model reads and writes
MAX_QUESTION = 400  # characters: beyond it nothing of the training data is left to compare with
_threads = threading.local()  # of PyTorch, where the model was called


class EmbeddedModelError(StackmaskError):
    """The embedded model's files are missing, or the question is none it can be asked."""


def bundled_names() -> tuple[str, ...]:
    """Return the names of the databases that come with stackmask, first the one that the model was trained on."""
    return DATABASES


def bundled_database(name: str = DATABASES[0]) -> Path:
    """Return the path of a bundled SQLite database.

    Raises: EmbeddedModelError if there is none of this name, or its file is missing.
    """
    if name not in DATABASES:
        raise EmbeddedModelError(f"no bundled database `{name}`; there are {', '.join(DATABASES)}")
    return _file(f"{name}.sqlite")


def prompt_for(question: str, tables: Iterable[tuple[str, Iterable[str]]] | None = None) -> str:
    """Return the prompt that the embedded model continues with SQL: the question on one line.

    A question alone is about the shop. For another database give its tables, (name, columns) each: they go before
    the question.

    Raises: EmbeddedModelError for an empty question, or one longer than ``MAX_QUESTION`` characters.
    """
    line = " ".join(question.split())  # mutant: question-line
    if not line:
        raise EmbeddedModelError("the question is empty")
    if len(line) > MAX_QUESTION:
        raise EmbeddedModelError(
            f"the question has {len(line)} characters; the model reads at most {MAX_QUESTION}"
        )
    return (schema_lines_text(tables) if tables is not None else "") + line + "\n"


def schema_lines_text(tables: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Return a schema as the embedded model reads it: a line for each table, its name and those of its columns."""
    return "".join(
        "".join(f" {_spelled(name)}" for name in (table, *columns)) + "\n" for table, columns in tables
    )


def _spelled(name: str) -> str:
    """Return a name as SQL would need it."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def load_embedded(*, reading: bool = False) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """Return (model, tokenizer): float32 on the CPU, in evaluation mode.

    A call of the model takes one thread, whatever ``torch.set_num_threads`` says, which holds again after it: the model
    is so small that more threads only wait for each other, and beside other work wait long.

    ``reading``: the weights that read a schema from the prompt, and not those that know the shop by heart.

    Raises: MissingExtraError without the extra ``hf``; EmbeddedModelError if a file is missing.
    Cost: the import of transformers; the files themselves load in milliseconds.
    """
    weights = _file("reader.safetensors" if reading else "model.safetensors")
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
    """Return the tokenizer alone, without the import of PyTorch.

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


def can_read() -> bool:
    """Say whether the weights that read a schema from the prompt are installed."""
    return (FOLDER / "reader.safetensors").is_file()


def _file(name: str) -> Path:
    path = FOLDER / name
    if not path.is_file():
        raise EmbeddedModelError(
            f"{path.name} of the embedded model is missing; `PYTHONPATH=lab python -m training` makes it"
        )
    return path
