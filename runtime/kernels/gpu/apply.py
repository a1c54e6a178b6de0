"""Apply a mask on the GPU: one launch, no allocation, no synchronisation, so that graphs can capture it.

Only forbidden logits are written, and none is read. A store of 16 bytes covers 4 or 8 tokens; it is issued where all of
them are forbidden, and tokens one by one elsewhere. (One predicate a token would break all stores into single ones.)
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from stackmask.runtime.kernels.gpu.masks import block_for, load_words, on_device


@triton.jit
def _apply_kernel(
    logits_ptr,
    logits_stride,
    mask_ptr,
    mask_stride,
    entry_ptr,
    chosen_ptr,
    rows,
    tiles,
    columns,
    width,
    CHOSEN: tl.constexpr,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Forbid one tile of one row: (rows x tiles) programs."""
    row = tl.program_id(0) // tiles
    first = (tl.program_id(0) % tiles) * BLOCK
    is_row = True
    if CHOSEN:
        # numbers that are no rows change nothing: they cannot be looked at before the launch
        row = tl.load(chosen_ptr + row).to(tl.int64)
        is_row = (row >= 0) & (row < rows)
    if is_row:
        tokens = first + tl.arange(0, BLOCK)
        words = load_words(mask_ptr, mask_stride, entry_ptr, row, tokens, first, BLOCK, columns, TABLE)
        at = logits_ptr + row.to(tl.int64) * logits_stride + tokens
        nothing = tl.full((BLOCK,), float("-inf"), tl.float32).to(logits_ptr.dtype.element_ty)
        start = tokens // GROUP * GROUP
        whole = (((words >> (start % 32)) & ((1 << GROUP) - 1)) == 0) & (start + GROUP <= width)
        tl.store(at, nothing, mask=whole)
        single = (((words >> (tokens % 32)) & 1) == 0) & (tokens < width)
        tl.store(at, nothing, mask=single & (whole == 0))


def launch_apply(
    logits: torch.Tensor,
    masks: torch.Tensor,
    *,
    columns: int,
    chosen: Any | None = None,
    entries: torch.Tensor | None = None,
) -> None:
    """Set the logits of forbidden tokens to -inf. All arguments have been checked.

    Shapes: logits (rows, width), any row stride; masks (rows, words) int32, or with ``entries`` (rows, 16) int32
        the rows of a mask table; chosen (any number,) int32 or int64, copied if it is not on the device.
    """
    if chosen is not None:
        chosen = torch.as_tensor(chosen).to(logits.device)
    rows, width = logits.shape
    count = rows if chosen is None else len(chosen)
    if not count or not width:
        return
    block, warps = block_for(count, width)
    tiles = triton.cdiv(width, block)
    with on_device(logits):
        _apply_kernel[(count * tiles,)](
            logits,
            logits.stride(0),
            masks,
            masks.stride(0),
            masks if entries is None else entries,
            masks if chosen is None else chosen,
            rows,
            tiles,
            columns,
            width,
            CHOSEN=chosen is not None,
            TABLE=entries is not None,
            GROUP=max(1, 16 // logits.element_size()),
            BLOCK=block,
            num_warps=warps,
        )
