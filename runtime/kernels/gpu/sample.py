"""Masked sampling on the GPU, in two launches; masked logits are never written. See ``sampling`` for the distribution.

The first launch reads each allowed logit once (in groups of 16 bytes: a group without an allowed token is not read) and
stores, for each tile of 1,024 tokens, the highest logit and the sum of exp; at temperature 0 also the token; if tokens may be
cut, also the number of allowed logits and the highest logit of each 64 tokens. The second launch has one program per row: it
samples a tile by those sums, then a token of that tile. A row with one allowed token thus costs its mask and 16 bytes.

Top-k, top-p and min-p keep the logits above a threshold, which the second launch finds exactly (``threshold``).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from stackmask.runtime.kernels.gpu.masks import early, on_device, wait_for_earlier
from stackmask.runtime.kernels.gpu.sizes import LISTED, PART, TILE
from stackmask.runtime.kernels.gpu.threshold import find_threshold, order_parts, parts_at
from stackmask.runtime.kernels.gpu.tiles import (
    allowed_at,
    gap,
    load_temperature,
    logits_of,
    tile_at,
    weights_of,
)

TILE_WARPS = 2  # of a program that looks at a tile
ROW_WARPS = 4  # of one that draws the token of a row
CUT_WARPS = 16  # of one that first finds a threshold
FULL = 132  # with more rows than this fewer warps are faster; the multiprocessors of an H100 or H200
CHUNK = 64  # parts that it looks at together

_LISTED = tl.constexpr(LISTED)
_PART = tl.constexpr(PART)


@triton.jit
def _tiles_kernel(
    logits_ptr,
    logits_stride,
    mask_ptr,
    mask_stride,
    entry_ptr,
    temperature_ptr,
    max_ptr,
    sum_ptr,
    best_ptr,
    count_ptr,
    part_ptr,
    tiles,
    columns,
    width,
    CUT: tl.constexpr,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr,
):
    """Write the highest logit, its token and the sum of one tile: (rows x tiles) programs.

    Where something may be cut, also the number of allowed logits, and the highest logit of each part of the tile.
    """
    wait_for_earlier(EARLY)
    source = (logits_ptr, logits_stride, mask_ptr, mask_stride, entry_ptr, columns, width)
    row = tl.program_id(0) // tiles
    tile = tl.program_id(0) % tiles
    at = tl.program_id(0).to(tl.int64)
    first = tile * BLOCK
    starts = first + tl.arange(0, BLOCK // GROUP) * GROUP
    allowed = allowed_at(source, row, starts, first, BLOCK, TABLE, GROUP)
    places = at * (BLOCK // _PART) + tl.arange(0, BLOCK // _PART)
    if tl.max(allowed, 0) == 0:
        # most tiles, where a grammar allows little
        tl.store(max_ptr + at, float("-inf"))
        tl.store(sum_ptr + at, 0.0)
        if CUT:
            tl.store(count_ptr + at, 0)
            tl.store(part_ptr + places, tl.full((BLOCK // _PART,), float("-inf"), tl.float32))
    else:
        x = logits_of(source, row, starts, allowed, allowed != 0, GROUP, EVEN)
        highest = tl.max(x, 0)
        temperature, inverse = load_temperature(temperature_ptr, row)
        tl.store(max_ptr + at, highest)
        tl.store(sum_ptr + at, tl.sum(weights_of(x, highest, inverse), 0))
        if temperature <= 0.0:
            best = tl.min(tl.where(x == highest, tl.arange(0, BLOCK), BLOCK), 0)
            tl.store(best_ptr + at, first + best)
        if CUT:
            tl.store(count_ptr + at, tl.sum((x > float("-inf")).to(tl.int32), 0))
            tl.store(part_ptr + places, tl.max(tl.reshape(x, (BLOCK // _PART, _PART)), 1))


@triton.jit
def _draw(weights, ids, target, END: tl.constexpr):
    """Return the first id whose running sum of weights exceeds ``target``; the last with a weight if none does."""
    sums = tl.cumsum(weights, 0)
    found = tl.min(tl.where((sums > target) & (weights > 0.0), ids, END), 0)
    return tl.where(found < END, found, tl.max(tl.where(weights > 0.0, ids, 0), 0))


@triton.jit
def _sum_kept(
    threshold,
    least,
    highest,
    inverse,
    maxima,
    parts,
    order_ptr,
    part_ptr,
    source,
    row,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    TILES: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Return the sum of each tile's logits that are kept; those of its parts take the place of the parts' maxima."""
    numbers = tl.arange(0, PARTS)
    count = order_parts(maxima, threshold, parts, order_ptr, PARTS)
    tl.store(part_ptr + numbers, tl.zeros((PARTS,), tl.float32), mask=numbers < parts)
    tl.debug_barrier()
    for start in range(0, count, CHUNK):
        x = parts_at(source, row, order_ptr, start, count, TABLE, GROUP, EVEN, PART, CHUNK)
        is_kept = (x >= threshold) & (gap(x, highest, inverse) >= least)
        weights = tl.where(is_kept, weights_of(x, highest, inverse), 0.0)
        places = start + tl.arange(0, CHUNK)
        part = tl.load(order_ptr + places, mask=places < count, other=0)
        tl.store(part_ptr + part, tl.sum(tl.reshape(weights, (CHUNK, PART)), 1), mask=places < count)
    tl.debug_barrier()
    sums = tl.load(part_ptr + numbers, mask=numbers < parts, other=0.0)
    return tl.sum(tl.reshape(sums, (TILES, PARTS // TILES)), 1)


@triton.jit
def _draw_token(
    sums,
    numbers,
    total,
    threshold,
    least,
    highest,
    inverse,
    seed_ptr,
    step_ptr,
    source,
    row,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
    TILES: tl.constexpr,
):
    """Return (token, its log probability): a tile by the sums, then a token of that tile."""
    seed = tl.load(seed_ptr + row).to(tl.uint64, bitcast=True)
    step = tl.load(step_ptr + row).to(tl.uint64, bitcast=True)
    nought = (step * 0).to(tl.uint32)
    a, b, _, _ = tl.philox(seed, step.to(tl.uint32), (step >> 32).to(tl.uint32), nought, nought)
    # 24 bits each: the tile by the first, the token by the second
    u = (a >> 8).to(tl.float32) * 5.9604644775390625e-08
    v = (b >> 8).to(tl.float32) * 5.9604644775390625e-08
    tile = _draw(sums, numbers, u * total, TILES)
    x = tile_at(source, row, tile, TABLE, GROUP, EVEN, BLOCK)
    is_kept = (x >= threshold) & (gap(x, highest, inverse) >= least)
    # by the tile's own highest: far below the row's, all weights would be 0
    weights = tl.where(is_kept, weights_of(x, tl.max(x, 0), inverse), 0.0)
    ids = tl.arange(0, BLOCK)
    place = _draw(weights, ids, v * tl.sum(weights, 0), BLOCK)
    chosen = tl.max(tl.where(ids == place, x, float("-inf")), 0)
    return (tile * BLOCK + place).to(tl.int64), gap(chosen, highest, inverse) - tl.log(total)


@triton.jit
def _rows_kernel(
    logits_ptr,
    logits_stride,
    mask_ptr,
    mask_stride,
    entry_ptr,
    temperature_ptr,
    top_k_ptr,
    top_p_ptr,
    min_p_ptr,
    seed_ptr,
    step_ptr,
    max_ptr,
    sum_ptr,
    best_ptr,
    count_ptr,
    part_ptr,
    list_ptr,
    order_ptr,
    token_ptr,
    logprob_ptr,
    tiles,
    columns,
    width,
    CUT: tl.constexpr,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
    TILES: tl.constexpr,
    CHUNK: tl.constexpr,
    EARLY: tl.constexpr,
):
    """Draw the token of one row: a program each."""
    wait_for_earlier(EARLY)
    source = (logits_ptr, logits_stride, mask_ptr, mask_stride, entry_ptr, columns, width)
    row = tl.program_id(0)
    base = row.to(tl.int64) * tiles
    numbers = tl.arange(0, TILES)
    is_tile = numbers < tiles
    maxima = tl.load(max_ptr + base + numbers, mask=is_tile, other=float("-inf"))
    highest = tl.max(maxima, 0)
    temperature, inverse = load_temperature(temperature_ptr, row)
    sums = tl.load(sum_ptr + base + numbers, mask=is_tile, other=0.0) * weights_of(maxima, highest, inverse)
    threshold = float("-inf")
    least = float("-inf")
    if CUT:
        total = tl.sum(sums, 0)
        allowed = tl.sum(tl.load(count_ptr + base + numbers, mask=is_tile, other=0), 0)
        is_drawn = temperature > 0.0
        top_k = tl.where(is_drawn, tl.load(top_k_ptr + row), 0)
        top_p = tl.where(is_drawn, tl.load(top_p_ptr + row), 1.0)
        parts = tiles * (BLOCK // _PART)
        order = order_ptr + base * (BLOCK // _PART)
        own = part_ptr + base * (BLOCK // _PART)
        PARTS: tl.constexpr = TILES * (BLOCK // _PART)
        places = tl.arange(0, PARTS)
        highs = tl.load(own + places, mask=places < parts, other=float("-inf"))
        threshold = find_threshold(
            top_k, top_p, allowed, total, highest, inverse, highs, parts, order,
            list_ptr + row.to(tl.int64) * _LISTED, source, row, TABLE, GROUP, EVEN, _PART, PARTS, CHUNK,
        )  # fmt: skip
        min_p = tl.load(min_p_ptr + row)
        is_least = (min_p > 0.0) & is_drawn
        if is_least:
            least = tl.minimum(tl.log(min_p), 0.0)  # the highest stays, whatever is asked
        if (threshold > float("-inf")) | is_least:
            sums = _sum_kept(
                threshold, least, highest, inverse, highs, parts, order, own, source, row,
                TABLE, GROUP, EVEN, _PART, PARTS, TILES, CHUNK,
            )  # fmt: skip
    total = tl.sum(sums, 0)
    if highest == float("-inf"):
        # nothing is allowed
        tl.store(token_ptr + row, tl.full((), -1, tl.int64))
        tl.store(logprob_ptr + row, float("-inf"))
    elif temperature <= 0.0:
        tile = tl.min(tl.where(maxima == highest, numbers, TILES), 0)
        tl.store(token_ptr + row, tl.load(best_ptr + base + tile).to(tl.int64))
        tl.store(logprob_ptr + row, -tl.log(total))
    else:
        token, logprob = _draw_token(
            sums, numbers, total, threshold, least, highest, inverse, seed_ptr, step_ptr, source, row,
            TABLE, GROUP, EVEN, BLOCK, TILES,
        )  # fmt: skip
        tl.store(token_ptr + row, token)
        tl.store(logprob_ptr + row, logprob)


def launch_sample(
    logits: torch.Tensor,
    masks: torch.Tensor,
    *,
    columns: int,
    parameters: dict[str, torch.Tensor],
    workspace: dict[str, torch.Tensor],
    tokens: torch.Tensor,
    logprobs: torch.Tensor,
    cut: bool,
    entries: torch.Tensor | None = None,
) -> None:
    """Sample a token for each row. All arguments have been checked, and are on the device of the logits.

    Shapes: logits (rows, width); masks (rows, words), or with ``entries`` (rows, 16) the rows of a mask table;
        parameters (rows,) each; tokens (rows,) int64 and logprobs (rows,) fp32 receive the result.
    """
    rows, width = logits.shape
    if not rows:
        return
    tiles = triton.cdiv(width, TILE)
    group = 16 // logits.element_size()
    source = (logits, logits.stride(0), masks, masks.stride(0), masks if entries is None else entries)
    how = {
        "CUT": cut,
        "TABLE": entries is not None,
        "GROUP": group,
        "EVEN": width % group == 0,
        "BLOCK": TILE,
        **early(logits),
    }
    row_warps = ROW_WARPS
    if cut:
        row_warps = CUT_WARPS
        if rows > FULL:  # with more tiles four warps have too few registers
            row_warps = CUT_WARPS // 4 if tiles <= 128 else CUT_WARPS // 2
    left = [workspace[name] for name in ("max", "sum", "best", "count", "part")]
    with on_device(logits):
        _tiles_kernel[(rows * tiles,)](
            *source, parameters["temperature"], *left, tiles, columns, width, **how, num_warps=TILE_WARPS
        )
        _rows_kernel[(rows,)](
            *source,
            *(parameters[n] for n in ("temperature", "top_k", "top_p", "min_p", "seeds", "steps")),
            *left,
            workspace["list"],
            workspace["order"],
            tokens,
            logprobs,
            tiles,
            columns,
            width,
            **how,
            TILES=max(16, triton.next_power_of_2(tiles)),
            CHUNK=CHUNK,
            num_warps=row_warps,
        )
