"""Plain PyTorch versions of the kernels: for comparison in tests, and for devices without a kernel."""

from __future__ import annotations

from typing import Any

import torch

BITS = 32


def allowed_tokens(bitmask: torch.Tensor, columns: int) -> torch.Tensor:
    """Return a bitmask (…, words) as booleans (…, columns)."""
    words = bitmask[..., : -(-columns // BITS)]
    shifts = torch.arange(BITS, device=words.device, dtype=torch.int32)
    return ((words.unsqueeze(-1) >> shifts) & 1 == 1).flatten(-2)[..., :columns]


def apply_reference(
    logits: torch.Tensor, bitmask: torch.Tensor, *, columns: int, chosen: Any | None = None
) -> None:
    """Set the logits of forbidden tokens to -inf, in place; five bytes of temporaries per logit.

    Shapes: logits (rows, width); bitmask (rows, words); chosen (any number,) rows to change.
    """
    rows = None if chosen is None else torch.as_tensor(chosen, device=logits.device).long()
    part = logits if rows is None else logits[rows]
    part[:, :columns].masked_fill_(
        ~allowed_tokens(bitmask if rows is None else bitmask[rows], columns), float("-inf")
    )
    part[:, columns:] = float("-inf")
    if rows is not None:
        logits[rows] = part
