"""What a model finds likely along a text: one pass over it, some tokens at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from stackmask.runtime.cli.tracing import LIKELIEST, Likely, Spelling, TraceError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CHUNK: Final = 32  # positions whose logits are held at once


class Likelihood:
    """The model's probabilities at each place of a text that follows a prompt.

    Without a prompt, and a token that begins texts, nothing is known of the first place.
    Raises: TraceError if the text is longer than the model reads.
    """

    def __init__(self, model: Any, prompt: Sequence[int], ids: Sequence[int]) -> None:
        self._model = model
        self._ids = [*prompt, *ids]
        self._first = len(prompt)  # place of the text
        self._cache: Any = None
        self._read = 0  # tokens that the model has read
        self._rows: Any = None  # probabilities after the last of them
        longest = getattr(model.config, "max_position_embeddings", None)
        if longest is not None and len(self._ids) > longest:
            raise TraceError(
                f"the prompt and the text have {len(self._ids):,} tokens: the model reads {longest:,}; leave --likely out"
            )

    def at(
        self, number: int, allowed: npt.NDArray[np.bool_], token: int | None, spelling: Spelling
    ) -> dict[str, Any]:
        """Return ``likely``, ``mass`` and ``chance`` of a step; numbers come in ascending order."""
        place = self._first + number
        if place == 0:
            return {}
        chances = self._chances_after(place - 1)
        values, tokens = chances.topk(min(LIKELIEST, len(chances)))
        width = len(allowed)
        likely = tuple(
            Likely(spelling.of(one), float(value), one < width and bool(allowed[one]))
            for value, one in zip(values.tolist(), tokens.tolist(), strict=True)
        )
        listed = chances.numpy()[:width]
        mass = float(listed[allowed[: len(listed)]].sum())
        return {
            "likely": likely,
            "mass": min(mass, 1.0),
            "chance": None if token is None or token >= len(listed) else float(listed[token]),
        }

    def _chances_after(self, last: int) -> Any:
        """Return the probabilities of the token after one of the text."""
        import torch

        from stackmask.runtime.generation.jumping import cache_keyword

        keyword = cache_keyword(self._model)
        while last >= self._read:
            chunk = self._ids[self._read : self._read + CHUNK]
            with torch.inference_mode():
                done = self._model(
                    input_ids=torch.tensor([chunk], device=self._model.device),
                    use_cache=True,
                    **{keyword: self._cache},
                )
            self._cache = getattr(done, keyword)
            self._rows = torch.softmax(done.logits[0].float(), dim=-1).cpu()
            self._read += len(chunk)
        return self._rows[last - self._read]  # counted from the end
