"""The random numbers of sampling: Philox 4x32-10, a function of seed and step alone.

Source: Salmon, Moraes, Dror, Shaw, *Parallel random numbers: as easy as 1, 2, 3*, SC 2011.
"""

from __future__ import annotations

import torch

ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFF_FFFF


def philox(counter: list[torch.Tensor], key: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return four words of 32 random bits for each counter of four words and key of two; all int64 tensors."""
    a, b, c, d = counter
    k, m = key
    for _ in range(ROUNDS):
        high_a, low_a = _product(_MULTIPLIERS[0], a)
        high_c, low_c = _product(_MULTIPLIERS[1], c)
        a, b, c, d = high_c ^ b ^ k, low_c, high_a ^ d ^ m, low_a
        k, m = (k + _KEY_STEPS[0]) & _WORD, (m + _KEY_STEPS[1]) & _WORD
    return [a, b, c, d]


def _product(factor: int, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the high and the low word of a product of two words; int64 would overflow if it were taken at once."""
    low = factor * (words & 0xFFFF)
    high = factor * (words >> 16) + (low >> 16)
    return high >> 16, ((high & 0xFFFF) << 16) | (low & 0xFFFF)


def uniforms(seeds: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Return two numbers in [0, 1), of 24 bits each, for every pair of seed and step.

    Shapes: seeds and steps (rows,) int64; the result (rows, 2) fp32.
    """
    seeds, steps = (numbers.to(torch.int64).cpu() for numbers in (seeds, steps))
    nought = torch.zeros_like(steps)
    a, b, _, _ = philox(
        [steps & _WORD, (steps >> 32) & _WORD, nought, nought], [seeds & _WORD, (seeds >> 32) & _WORD]
    )
    return torch.stack([a >> 8, b >> 8], dim=-1).to(torch.float32) * 2.0**-24
