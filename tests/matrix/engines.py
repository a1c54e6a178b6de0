"""The engines of the matrix. Each answers the mask at every place of a path of tokens, and what its counts are then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stackmask as sm
from stackmask.pda.masks import layers

Masks = list[np.ndarray]
ALL_ON, ALL_OFF, EVICTED = "all on", "all off", "evicted after every mask"
SMALL_CACHE = 2  # bytes: whatever a mask takes is too much, so the next fill drops it

# the engines that differ in their layers alone: name → what is off
LAYERED: dict[str, tuple[str, ...]] = {
    ALL_OFF: layers.LAYERS,
    **{f"without {layer}": (layer,) for layer in layers.LAYERS},
}


def compile_with(
    grammar: sm.Grammar, vocabulary: sm.Vocabulary, off: Sequence[str] = (), **options: Any
) -> sm.CompiledGrammar:
    """Compile a grammar in a new compiler with some layers off."""
    with layers.without(*off):
        return sm.Compiler(vocabulary, **options).compile(grammar)


def mask_of(matcher: Any, size: int) -> np.ndarray:
    """Return the words of the mask; what was there before must not matter."""
    mask = sm.allocate_token_bitmask(1, size)
    mask[:] = -1
    matcher.fill_next_token_bitmask(mask)
    return mask[0]


def ids_of(words: np.ndarray) -> set[int]:
    """Return the allowed ids of a mask."""
    return set(np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist())


def masks_along(compiled: Any, paths: Sequence[Sequence[int]], size: int) -> Masks:
    """Return the masks before every token of some paths and after the last."""
    masks = []
    for path in paths:
        matcher = compiled.matcher()
        masks.append(mask_of(matcher, size))
        for token in path:
            assert matcher.accept_token(token)
            masks.append(mask_of(matcher, size))
    return masks


def tried_along(compiled: Any, paths: Sequence[Sequence[int]], size: int) -> Masks:
    """Return the masks that say of each token whether the matcher accepts it, byte by byte on the real stack."""
    masks = []
    for path in paths:
        matcher = compiled.matcher()
        for token in (*path, None):
            bits = np.zeros(-size % 32 + size, dtype=np.uint8)
            for other in range(size):
                if matcher.accept_token(other):
                    matcher.rollback()
                    bits[other] = 1
            masks.append(np.packbits(bits, bitorder="little").view(np.int32))
            if token is not None:
                assert matcher.accept_token(token)
    return masks
