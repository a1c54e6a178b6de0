"""Convert the caller's prompts to the tokens that the model reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.result import Prompt

if TYPE_CHECKING:
    from stackmask.runtime.vocabulary.vocabulary import Vocabulary

_TEMPLATE_OURS = frozenset({"tokenize", "return_tensors", "return_dict", "padding", "truncation"})


def is_one(prompts: Prompt | Sequence[Prompt]) -> bool:
    """Return whether the argument is a single prompt: a string, or the messages of one chat."""
    return isinstance(prompts, str) or (
        isinstance(prompts, Sequence)
        and bool(prompts)
        and all(isinstance(message, Mapping) for message in prompts)
    )


def as_prompts(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    if isinstance(prompts, str):
        return [prompts]
    if not isinstance(prompts, Sequence) or isinstance(prompts, bytes):
        given = prompts.__name__ if isinstance(prompts, type) else type(prompts).__name__
        raise GenerationError(
            f"a prompt is text or a list of messages, not {given}: the order is generate(model, tokenizer, prompt, grammar)"
        )
    listed: list[Any] = list(prompts)
    if listed and all(isinstance(item, Mapping) for item in listed):
        return [listed]
    for item in listed:
        if not isinstance(item, str) and not (
            isinstance(item, Sequence) and all(isinstance(message, Mapping) for message in item)
        ):
            raise GenerationError(f"a prompt is {type(item).__name__}: it must be text or a list of messages")
    return listed


def pad_id(tokenizer: Any, vocabulary: Vocabulary) -> int:
    pad = getattr(tokenizer, "pad_token_id", None)
    return int(pad) if pad is not None else vocabulary.stop_ids[0] if vocabulary.stop_ids else 0


def lay_out(tokenizer: Any, prompts: Sequence[Prompt], chat_options: Mapping[str, Any]) -> list[str]:
    """Return the text of each prompt; the tokenizer's chat template renders chats."""
    if clash := _TEMPLATE_OURS.intersection(chat_options):
        raise GenerationError(
            f"chat_options: {', '.join(sorted(clash))} cannot be given: generate sets it itself"
        )
    goes_on = bool(chat_options.get("continue_final_message"))
    template = {"add_generation_prompt": not goes_on, **chat_options, "tokenize": False}
    texts: list[str] = []
    for prompt in prompts:
        if isinstance(prompt, str):
            texts.append(prompt)
            continue
        for message in prompt:
            if not isinstance(message.get("role"), str):
                raise GenerationError(
                    f"a message has a `role`, as in {{'role': 'user', 'content': …}}, not {message!r:.80}"
                )
        try:
            texts.append(tokenizer.apply_chat_template(list(prompt), **template))
        except Exception as error:
            if isinstance(error, ValueError) and not (
                getattr(tokenizer, "chat_template", None) or template.get("chat_template")
            ):
                raise GenerationError(
                    "the chat template cannot lay out the messages: the tokenizer has none; give the prompt as text, or "
                    'chat_options={"chat_template": …}'
                ) from None
            if isinstance(error, ValueError) or type(error).__module__.startswith("jinja2"):
                raise GenerationError(f"the chat template cannot lay out the messages: {error}") from error
            raise
    return texts


def encode(
    tokenizer: Any, prompts: Sequence[Prompt], texts: Sequence[str], pad: int
) -> dict[str, torch.Tensor]:
    """Tokenize, and pad on the left, since the tokenizer's own padding may be unset or on the right.

    ``texts``: the texts of the prompts, which include a chat's special tokens.
    """
    rows: list[list[int]] = []
    for prompt, text in zip(prompts, texts, strict=True):
        options = {} if isinstance(prompt, str) else {"add_special_tokens": False}
        ids = tokenizer(text, **options)["input_ids"]
        if not ids:
            start = next((i for i in (tokenizer.bos_token_id, tokenizer.eos_token_id) if i is not None), pad)
            ids = [start]
        rows.append(list(ids))
    width = max(map(len, rows))
    return {
        "input_ids": torch.tensor([[pad] * (width - len(row)) + row for row in rows]),
        "attention_mask": torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows]),
    }
