"""Apply a mask on the GPU: one launch, no allocation, no synchronisation, so that graphs can capture it.

Tokens are processed in groups of 16 bytes (4 or 8 logits). A group of allowed tokens is skipped; a group of forbidden tokens is
written without being read; a mixed group is read, and written back with its allowed logits unchanged. (Storing forbidden tokens
separately would move as many bytes, since memory is written in sectors of 32 bytes, but with many more stores.)
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from stackmask.runtime.kernels.gpu.masks import (
    block_for,
    early,
    let_next_begin,
    load_groups,
    on_device,
    wait_for_earlier,
)

# larger logits are written so that they leave the second-level cache first (it has 50 MB on an H100)
CACHED = 32 << 20

# of each width in bytes: the integer type that logits are handled as, so that those which are allowed keep their bits
_INTEGERS = {2: tl.int16, 4: tl.int32, 8: tl.int64}


_MINUS_INF = {
    kind: torch.tensor(float("-inf"), dtype=kind).view(bits).item()
    for kind, bits in (
        (torch.float16, torch.int16),
        (torch.bfloat16, torch.int16),
        (torch.float32, torch.int32),
        (torch.float64, torch.int64),
    )
}


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
    EVEN: tl.constexpr,
    INTEGER: tl.constexpr,
    NOTHING: tl.constexpr,
    STREAMED: tl.constexpr,
    EARLY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Forbid one tile of one row: (rows x tiles) programs."""
    wait_for_earlier(EARLY)
    let_next_begin(EARLY)
    row = tl.program_id(0) // tiles
    first = (tl.program_id(0) % tiles) * BLOCK
    is_row = True
    if CHOSEN:
        # numbers that are no rows change nothing: they cannot be looked at before the launch
        row = tl.load(chosen_ptr + row).to(tl.int64)
        is_row = (row >= 0) & (row < rows)
    if is_row:
        starts = first + tl.arange(0, BLOCK // GROUP) * GROUP
        allowed = load_groups(
            mask_ptr, mask_stride, entry_ptr, row, starts, first, BLOCK, columns, TABLE, GROUP
        )
        is_inside = starts + GROUP <= width
        is_mixed = (allowed != 0) & (allowed != (1 << GROUP) - 1)
        is_written = (allowed != (1 << GROUP) - 1) & is_inside
        lanes = tl.arange(0, GROUP)
        base = logits_ptr.to(tl.pointer_type(INTEGER)) + row.to(tl.int64) * logits_stride
        at = base + starts[:, None] + lanes[None, :]
        forbidden = tl.full((BLOCK // GROUP, GROUP), NOTHING, INTEGER)
        # one predicate a group, so that loads and stores stay 16 bytes wide
        x = tl.load(at, mask=(is_mixed & is_inside)[:, None] & (lanes >= 0)[None, :], other=0)
        is_allowed = ((allowed[:, None] >> lanes[None, :]) & 1) == 1
        x = tl.where(is_allowed, x, forbidden)
        is_written = is_written[:, None] & (lanes >= 0)[None, :]
        if STREAMED:
            tl.store(at, x, mask=is_written, eviction_policy="evict_first")
        else:
            tl.store(at, x, mask=is_written)
        if not EVEN:
            # the last tokens of a row do not fill a group
            tokens = starts[:, None] + lanes[None, :]
            is_rest = (starts < width)[:, None] & (is_inside == 0)[:, None] & (tokens < width)
            tl.store(at, forbidden, mask=is_rest & (is_allowed == 0))


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
    size = logits.element_size()
    group = 16 // size
    block, warps = block_for(count, width, table=entries is not None)
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
            GROUP=group,
            EVEN=width % group == 0,
            INTEGER=_INTEGERS[size],
            NOTHING=_MINUS_INF[logits.dtype],
            STREAMED=count * width * size > CACHED,
            BLOCK=block,
            **early(logits),
            num_warps=warps,
        )
