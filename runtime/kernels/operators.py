"""Masking as a PyTorch operator, which ``torch.compile`` includes in its graph unchanged."""

from __future__ import annotations

import torch

from stackmask.runtime.kernels.apply import apply_now


@torch.library.custom_op("stackmask::apply_token_bitmask", mutates_args=("logits",))
def apply_operator(
    logits: torch.Tensor, bitmask: torch.Tensor, indices: torch.Tensor | None, vocab_size: int | None
) -> None:
    """Apply a mask; ``apply_token_bitmask_inplace`` calls this when it is compiled."""
    apply_now(logits, bitmask, indices, vocab_size)


@apply_operator.register_fake
def _(
    logits: torch.Tensor, bitmask: torch.Tensor, indices: torch.Tensor | None, vocab_size: int | None
) -> None:
    return None
