"""Criteria of ours beside those of transformers: stop when asked to, and show progress."""

from __future__ import annotations

import threading
from typing import Any, final

import torch
from transformers import StoppingCriteria


class StopFlag(StoppingCriteria):
    """Stop all rows, and compiling, once set, from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **_: Any) -> torch.Tensor:
        return torch.full((len(input_ids),), self._event.is_set(), dtype=torch.bool, device=input_ids.device)


@final
class ProgressBar(StoppingCriteria):
    """Show the number of generated tokens per row; stops nothing."""

    def __init__(self, start: int, total: int) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        self._start = start
        self._bar = tqdm(total=total, desc="generating", unit="token")

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **_: Any) -> torch.Tensor:
        # rows of several lengths come one after the other
        self._bar.update(max(0, input_ids.shape[1] - self._start - self._bar.n))
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
