"""Giving out tokens while a generation jumps over forced text."""

from __future__ import annotations

from typing import Any

import torch

from stackmask.runtime.generation.jump_rows import RowTable
from stackmask.runtime.generation.text import TokenStreamer


class JumpStream:
    """Give the new tokens of all rows to a streamer; None: to nobody.

    ``holds_last``: the last token of an unfinished row may be taken back, and is given out with the next one. A
    ``TokenStreamer`` gets all tokens at once, and corrects what was taken back by itself.
    """

    def __init__(self, streamer: Any, batch: RowTable, holds_last: bool) -> None:
        self._streamer, self._batch, self._holds_last = streamer, batch, holds_last
        self._takes_rows = isinstance(streamer, TokenStreamer)
        self._given = [0] * len(batch.rows)

    def begin(self, prompt: torch.Tensor) -> None:
        """Give out the prompts."""
        if self._streamer is not None:
            self._streamer.put(prompt.cpu())

    def rollback_limit(self, i: int) -> int | None:
        """Return how many of its last tokens row ``i`` may take back, since they were not given out; None for all."""
        if self._streamer is None or self._takes_rows:
            return None
        return len(self._batch.rows[i].ids) - self._given[i]

    def put_new(self) -> None:
        """Give out the tokens written since the last call."""
        if self._streamer is None:
            return
        for i, row in enumerate(self._batch.rows):
            if self._takes_rows:
                self._streamer.put_row(i, row.ids)
                continue
            end = len(row.ids) if row.done or not self._holds_last else max(self._given[i], len(row.ids) - 1)
            for token in row.ids[self._given[i] : end]:
                self._streamer.put(torch.tensor([token]))
            self._given[i] = end

    def end(self) -> None:
        """Tell the streamer that nothing follows."""
        if self._streamer is not None:
            self._streamer.end()
