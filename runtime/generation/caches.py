"""What a cache of keys and values can do: forget its last tokens, and leave gaps."""

from __future__ import annotations

import inspect
from typing import Any

from transformers import GenerationMixin

CACHE_KEYWORDS = ("cache", "past_key_values")  # transformers since 5.24, and before


def cache_keyword(model: Any) -> str:
    """Return the keyword by which a model takes its cache, which is also the name of the cache in what it returns.

    Models with code of their own may keep the old keyword, and wrappers take any; then that of transformers is meant.
    """
    for owner in (model, GenerationMixin):
        parameters = inspect.signature(owner.prepare_inputs_for_generation).parameters
        for keyword in CACHE_KEYWORDS:
            if keyword in parameters:
                return keyword
    return CACHE_KEYWORDS[-1]


class CacheView:
    """The cache of one generation, seen as columns of tokens.

    ``gaps``: columns may be hidden by the attention mask, so that rows can be of different lengths. ``crops``: the
    last columns can be removed. ``steps``: it takes one column at a time once it has taken any. Sliding windows and
    linear attention count or mix every column, and what they have forgotten does not come back: neither gaps nor
    crops. Many models with a recurrent state read one token at a time.
    """

    def __init__(self, cache: Any) -> None:
        self.cache = cache
        layers = list(getattr(cache, "layers", ()))
        sliding = any(getattr(layer, "is_sliding", False) for layer in layers)
        recurrent = any(
            not hasattr(layer, "get_seq_length") or hasattr(layer, "conv_states") for layer in layers
        )
        fixed = [layer for layer in layers if getattr(layer, "is_compileable", False)]
        plain = cache is not None and hasattr(cache, "get_seq_length") and not sliding and not recurrent
        self.fixed = bool(fixed)
        self.gaps = plain and not fixed and _is_made_of_growing_layers(cache, layers)
        self.crops = plain and (self.gaps or all(_can_step_back(layer) for layer in layers))
        self.steps = recurrent or cache is None

    @property
    def length(self) -> int:
        """The number of columns held."""
        try:
            return 0 if self.cache is None else int(self.cache.get_seq_length())
        except ValueError:  # there is no layer that would know
            return 0

    def crop(self, count: int) -> None:
        """Remove the last columns. Precondition: ``crops``."""
        if not count:
            return
        if not self.fixed:
            self.cache.crop(-count)
            return
        length = self.length
        for layer in self.cache.layers:
            if hasattr(layer, "cumulative_length"):
                # what lies after the length is never read, and is overwritten
                layer.cumulative_length.sub_(count)
            else:  # transformers before 5.4: the columns that hold anything are counted
                layer.keys[:, :, length - count : length].zero_()


def _is_made_of_growing_layers(cache: Any, layers: list[Any]) -> bool:
    names = {type(layer).__name__ for layer in layers}
    if not layers:  # made when they are first used
        kind = getattr(cache, "layer_class_to_replicate", None)
        names = {getattr(kind, "__name__", "")}
    return names == {"DynamicLayer"} and hasattr(cache, "crop")


def _can_step_back(layer: Any) -> bool:
    if type(layer).__name__ != "StaticLayer":
        return False
    return not hasattr(layer, "cumulative_length") or hasattr(layer.cumulative_length, "sub_")
