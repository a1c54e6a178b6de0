"""The functions on bitmasks, with XGrammar's defaults: torch tensors, and logits past the mask unchanged."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from stackmask.grammar.source.options import ArgumentError
from stackmask.runtime.compat.xgrammar.errors import runtime_errors
from stackmask.runtime.extras import require
from stackmask.runtime.kernels import bitmask as native

if TYPE_CHECKING:
    import torch

BACKENDS: Final = ("auto", "cpu", "cuda", "triton", "torch_compile", "torch_native")
BITS: Final = 32


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    """Return the shape of a bitmask: ``(batch_size, ceil(vocab_size / 32))``."""
    return native.bitmask_shape(batch_size, vocab_size)


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> torch.Tensor:
    """Return a bitmask that allows every token: an int32 tensor on the CPU."""
    with require("hf"):
        return native.allocate_token_bitmask(batch_size, vocab_size, like="torch")


def reset_token_bitmask(bitmask: Any) -> None:
    """Allow every token, in place."""
    native.reset_token_bitmask(bitmask)


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: int | None = None,
    indices: Sequence[int] | None = None,
    backend: Literal["auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"] = "auto",
) -> None:
    """Set the logits of forbidden tokens to -inf, in place.

    Shapes: logits (batch, vocab) or (vocab,); bitmask the same with ceil(vocab / 32) words for the last. With
    ``indices``, their numbers of rows may differ. ``vocab_size``: the number of leading columns to mask, by
    default as many as both arrays have; later logits are unchanged, with a warning if no ``vocab_size`` was
    given. ``backend`` is ignored, since the device of the logits decides.
    Raises: XGrammarError (a RuntimeError and a ValueError) if devices, types or widths do not fit; ValueError for an unknown
        backend.
    """
    if backend not in BACKENDS:
        raise ArgumentError(f"backend is {backend!r:.40}, not one of {', '.join(BACKENDS)}")
    width, covered = logits.shape[-1], bitmask.shape[-1] * BITS
    columns = min(width, covered) if vocab_size is None else vocab_size
    if vocab_size is None and covered < width:
        warnings.warn(
            f"the bitmask covers {covered} tokens and logits have {width}: the others stay allowed. Allocate it for "
            "the width of the logits, or pass vocab_size",
            stacklevel=2,
        )
    if logits.ndim == 1 and bitmask.ndim == 2 and bitmask.shape[0] == 1:
        bitmask = bitmask[0]
    if indices is not None and logits.ndim == 2 and bitmask.ndim == 2:
        rows = min(logits.shape[0], bitmask.shape[0])
        logits, bitmask = logits[:rows], bitmask[:rows]
    if columns:
        with runtime_errors():
            native.apply_token_bitmask_inplace(
                logits[..., :columns], bitmask[..., : -(-columns // BITS)], indices=indices
            )
