"""What a generation returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Prompt: TypeAlias = "str | Sequence[Mapping[str, Any]]"
"""Text, or the messages of a chat (the tokenizer's chat template lays them out)."""


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """One generated text.

    ``token_ids``: without prompt, stop token and padding. ``finished``: the text is a whole sentence of the
    grammar (without a grammar: a stop token ended it). ``reason``: "stop" for a stop token, "length" when
    ``max_new_tokens`` was reached, "interrupted" when a stopping criterion or the caller ended it earlier.
    """

    prompt: Prompt
    text: str
    token_ids: tuple[int, ...]
    finished: bool
    reason: Literal["stop", "length", "interrupted"]

    @property
    def note(self) -> str:
        """Say in one line why the text is not finished; empty if it is."""
        if self.finished:
            return ""
        count = len(self.token_ids)
        if self.reason == "length":
            return f"max_new_tokens was reached after {count} tokens, before the text was complete: raise it"
        if self.reason == "stop":
            return f"the text ended after {count} tokens outside the grammar"
        return f"generation was interrupted after {count} tokens, before the text was complete"
