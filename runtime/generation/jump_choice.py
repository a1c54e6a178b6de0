"""Choosing the next token of rows under grammars, and stopping, as ``generate`` does.

Processors and stopping criteria may judge by the number of columns, so they see rows of one length at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import LogitsProcessorList

from stackmask.runtime.generation.errors import GenerationError
from stackmask.runtime.generation.jump_rows import RowTable
from stackmask.runtime.generation.processor import describe_allowed, forbid_tokens, stuck_rows
from stackmask.runtime.kernels.bitmask import allocate_token_bitmask
from stackmask.runtime.matching.step import fill_next_token_bitmask
from stackmask.runtime.vocabulary.vocabulary import Vocabulary


class TokenChoice:
    """Apply processors and masks to logits, and sample or take the best token.

    The mask comes before the first warper, which must see no forbidden token. ``vocabulary``: that of the grammars;
    None without any.
    """

    def __init__(
        self, batch: RowTable, vocabulary: Vocabulary | None, processors: Any, *, samples: bool
    ) -> None:
        at = next(
            (i for i, p in enumerate(processors) if type(p).__name__.endswith("Warper")), len(processors)
        )
        self._before, self._after = LogitsProcessorList(processors[:at]), LogitsProcessorList(processors[at:])
        self._batch, self._vocabulary, self._samples = batch, vocabulary, samples
        self._constrained: list[int] = []  # the rows whose masks were filled
        if vocabulary is not None and any(row.matcher is not None for row in batch.rows):
            self._mask = allocate_token_bitmask(
                len(batch.rows), vocabulary.size, like="torch", pin_memory=batch.device.type == "cuda"
            )

    def fill(self, asked: list[int]) -> bool:
        """Fill the masks of the rows that the model is asked for; may run during the forward pass."""
        rows = [i for i in asked if self._batch.rows[i].is_live]
        self._constrained = rows
        if rows:
            fill_next_token_bitmask([self._batch.rows[i].matcher for i in rows], self._mask, rows=rows)
        return bool(rows)

    def choose(self, logits: torch.Tensor, asked: list[int]) -> list[int]:
        """Return the next token of each row asked for. ``logits``: of all rows, may be written to."""
        scores = self._process(logits, asked) if self._before else logits
        rows = self._constrained
        if rows and self._vocabulary is not None:
            width = self._vocabulary.size
            if scores.shape[1] < width:
                raise GenerationError(
                    f"scores have {scores.shape[1]} columns, but the grammar was compiled for a vocabulary of {width}: "
                    f"build it with size={scores.shape[1]}"
                )
            forbid_tokens(scores, self._mask, None if len(rows) == len(scores) else rows, width)
        masked = scores
        if self._after:
            scores = self._after(self._batch.padded(self._batch.lengths()), scores)
        self._check_not_stuck(scores, rows)
        wanted = scores if len(asked) == len(scores) else scores[asked]
        result = self._draw(wanted)
        for k, i in enumerate(asked):
            if i in rows and not self._batch.rows[i].fits_after(result[k]):
                result[k] = self._choose_again(masked, i)
        return result

    def _draw(self, scores: torch.Tensor) -> list[int]:
        """Return a token for each row of some scores."""
        if self._samples:
            chosen = torch.multinomial(torch.softmax(scores, dim=-1), num_samples=1).squeeze(1)
        else:
            chosen = scores.argmax(dim=-1)
        result: list[int] = chosen.tolist()
        return result

    def _choose_again(self, scores: torch.Tensor, i: int) -> int:
        """Return a token after which row i can end in time: drawn as if the others had been forbidden at once.

        ``scores``: of all rows, before the warpers; may be written to.
        """
        row, vocabulary = self._batch.rows[i], self._vocabulary
        assert row.matcher is not None
        assert vocabulary is not None
        row.matcher.fill_next_token_bitmask(self._mask, i, budget=row.room - len(row.ids))
        forbid_tokens(scores, self._mask, [i], vocabulary.size)
        if self._after:
            scores = self._after(self._batch.padded(self._batch.lengths()), scores)
        self._check_not_stuck(scores, [i])
        return self._draw(scores[i : i + 1])[0]

    def _process(self, logits: torch.Tensor, asked: list[int]) -> torch.Tensor:
        """Ask the processors, once for each length among the rows."""
        lengths = self._batch.lengths()
        wanted = sorted({lengths[i] for i in asked})
        result = logits
        for length in wanted:
            ids = self._batch.padded([min(n, length) for n in lengths])
            scores = self._before(ids, logits if len(wanted) == 1 else logits.clone())
            if len(wanted) == 1:
                return scores
            if result is logits:
                result = torch.empty_like(scores)
            rows = [i for i, n in enumerate(lengths) if n == length]
            result[rows] = scores[rows]
        return result

    def _check_not_stuck(self, scores: torch.Tensor, rows: list[int]) -> None:
        vocabulary = self._vocabulary
        if not rows or vocabulary is None:
            return
        for i in stuck_rows(scores, self._mask, rows, vocabulary.size):
            matcher = self._batch.rows[i].matcher
            assert matcher is not None
            raise GenerationError(
                f"no token is left for row {i}: the grammar allows {describe_allowed(matcher, vocabulary)}, and other "
                "processors (min_new_tokens, bad_words_ids, forced tokens, ...) forbid all of it"
            )


class StoppingChecks:
    """Ask stopping criteria after every single new token, as if the model had written one at a time."""

    def __init__(self, batch: RowTable, criteria: list[Any]) -> None:
        self._batch, self._criteria = batch, criteria

    def check(self, known: Sequence[int], *, everywhere: bool = False) -> None:
        """End the rows that a criterion stops, after the token that it stops at.

        ``known``: how many of the first tokens of each row are not new. ``everywhere``: rows without new tokens are
        asked as well.
        """
        if not self._criteria:
            return
        rows = self._batch.rows
        counts = self._batch.lengths()
        new = [count - n for count, n in zip(counts, known, strict=True)]
        over = [not n and (row.done or not everywhere) for n, row in zip(new, rows, strict=True)]
        for step in range(1, max(new) + 1):
            lengths = [count - n + min(step, n) for count, n in zip(counts, new, strict=True)]
            here = [i for i, n in enumerate(new) if not over[i] and step <= max(1, n)]
            for length in sorted({lengths[i] for i in here}):
                stops = self._stops(self._batch.padded([min(n, length) for n in lengths]))
                for i in here:
                    if lengths[i] == length and stops[i]:
                        over[i] = True
                        rows[i].cut(length)

    def _stops(self, ids: torch.Tensor) -> list[bool]:
        ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
        for criterion in self._criteria:
            ended |= torch.as_tensor(criterion(ids, None), device=ids.device)
        stops: list[bool] = ended.tolist()
        return stops
