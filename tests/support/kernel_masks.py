"""Random masks and logits for the tests of the kernels, and the booleans that they stand for."""

from __future__ import annotations

import numpy as np
import torch

# vocabularies with a last word that is cut, or just not; the last is Qwen's, whose logits are wider
SIZES = [1, 31, 32, 33, 1000, 4097]
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
DENSITIES = [0.0, 0.002, 0.5, 0.998, 1.0]


def random_masks(
    seed: int, rows: int, vocab: int, density: float | None = None, extra_words: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (bitmask, booleans). Without ``density`` each row has one of its own; words past the end are noise."""
    rng = np.random.default_rng(seed)
    share = rng.choice(DENSITIES, size=(rows, 1)) if density is None else np.full((rows, 1), density)
    allowed = rng.random((rows, vocab)) < share
    words = -(-vocab // 32) + extra_words
    bits = rng.random((rows, 32 * words)) < 0.5
    bits[:, :vocab] = allowed
    packed = np.packbits(bits, axis=1, bitorder="little").view(np.int32)
    return torch.from_numpy(packed.copy()), torch.from_numpy(allowed)


def random_logits(
    seed: int, rows: int, width: int, dtype: torch.dtype, *, special: bool = True
) -> torch.Tensor:
    """Return logits; with ``special``, some are NaN with a payload, infinite, or minus zero."""
    generator = torch.Generator().manual_seed(seed)
    logits = (4 * torch.randn(rows, width, generator=generator)).to(dtype)
    if special:
        values = torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0], dtype=dtype)
        where = torch.rand(rows, width, generator=generator) < 0.1
        logits[where] = values[torch.randint(4, (int(where.sum()),), generator=generator)]
    return logits


def bits_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bits of floating-point numbers, so that NaN equals NaN."""
    kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return tensor.cpu().contiguous().view(kind)
