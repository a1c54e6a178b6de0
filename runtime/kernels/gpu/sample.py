"""Masked sampling on the GPU, in two launches; masked logits are never written. See ``sampling`` for what is drawn.

The first launch reads each allowed logit once (in groups of 16 bytes: a group without an allowed token is not read) and
leaves four numbers a tile of 1,024 tokens: the highest logit and its token, the sum of exp, how many are allowed. The
second has a program a row: it draws a tile by those sums, then a token of that tile. A row with one allowed token thus
costs its mask and 16 bytes.

Top-k, top-p and min-p keep the logits above a threshold, which the second launch finds exactly: steps down from the
highest logit until enough is above, a list of what is, and bisection of the bits of its numbers. Tiles whose highest logit
is below the bound are not read again.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from stackmask.runtime.kernels.gpu.masks import load_groups, on_device

TILE_WARPS = 4  # of a program that looks at a tile
ROW_WARPS = 4  # of one that draws the token of a row
TILE = 1024  # tokens; part of what is drawn, so the same everywhere
LISTED = 2048  # logits above the first bound that are kept together; with more, tiles are read instead

_LISTED = tl.constexpr(LISTED)
_COLDEST = tl.constexpr(2.0**-125)
_HOTTEST = tl.constexpr(2.0**125)
_FIRST_DROP = tl.constexpr(2.0**-6)  # below it, next to nothing would be added by each of a hundred steps


@triton.jit
def _tile(
    source,
    row,
    tile,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Return the logits of a tile as fp32, -inf where a token is forbidden or its logit is NaN.

    ``source`` is (logits, their stride, masks, their stride, entries, columns, width), as the kernels have them.
    """
    logits_ptr, logits_stride, mask_ptr, mask_stride, entry_ptr, columns, width = source
    first = tile * BLOCK
    starts = first + tl.arange(0, BLOCK // GROUP) * GROUP
    allowed = load_groups(mask_ptr, mask_stride, entry_ptr, row, starts, first, BLOCK, columns, TABLE, GROUP)
    lanes = tl.arange(0, GROUP)
    tokens = starts[:, None] + lanes[None, :]
    is_allowed = ((allowed[:, None] >> lanes[None, :]) & 1) == 1
    if EVEN:
        # one predicate a group, so that loads stay 16 bytes wide
        is_read = ((allowed != 0) & (starts < width))[:, None] & (lanes >= 0)[None, :]
    else:
        is_read = is_allowed & (tokens < width)
    x = tl.load(logits_ptr + row.to(tl.int64) * logits_stride + tokens, mask=is_read, other=0.0).to(
        tl.float32
    )
    # minus zero is zero: what is equal must have the same bits
    is_number = x == x  # noqa: PLR0124
    return tl.reshape(tl.where(is_allowed & is_number, x + 0.0, float("-inf")), (BLOCK,))


@triton.jit
def _gap(x, highest, inverse):
    """Return (x - highest) * inverse: 0 for the highest, and no difference of infinities."""
    below = tl.where(x == highest, 0.0, x) - tl.where(highest == float("-inf"), 0.0, highest)
    return tl.where(x == highest, 0.0, below * inverse)


@triton.jit
def _weights(x, highest, inverse):
    """Return exp((x - highest) * inverse), 1 for the highest and 0 for -inf, infinities included."""
    return tl.where(x == float("-inf"), 0.0, tl.exp(_gap(x, highest, inverse)))


@triton.jit
def _load_temperature(temperature_ptr, row):
    """Return the temperature of a row and its inverse, 1 where the highest is taken.

    Numbers on the device have not been looked at: what is not above 0 (NaN too) counts as 0, so that every loop
    below ends; others from 2^-125 to 2^125, so that inverses are neither infinite nor denormal.
    """
    given = tl.load(temperature_ptr + row)
    temperature = tl.where(given > 0.0, tl.maximum(tl.minimum(given, _HOTTEST), _COLDEST), 0.0)
    return temperature, tl.where(temperature > 0.0, 1.0 / tl.where(temperature > 0.0, temperature, 1.0), 1.0)


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
    tiles,
    columns,
    width,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Leave highest logit, its token, sum and count of one tile: (rows x tiles) programs."""
    source = (logits_ptr, logits_stride, mask_ptr, mask_stride, entry_ptr, columns, width)
    row = tl.program_id(0) // tiles
    tile = tl.program_id(0) % tiles
    x = _tile(source, row, tile, TABLE, GROUP, EVEN, BLOCK)
    highest = tl.max(x, 0)
    _, inverse = _load_temperature(temperature_ptr, row)
    at = tl.program_id(0).to(tl.int64)
    tl.store(max_ptr + at, highest)
    tl.store(sum_ptr + at, tl.sum(_weights(x, highest, inverse), 0))
    tl.store(best_ptr + at, tile * BLOCK + tl.min(tl.where(x == highest, tl.arange(0, BLOCK), BLOCK), 0))
    tl.store(count_ptr + at, tl.sum((x > float("-inf")).to(tl.int32), 0))


@triton.jit
def _key(x):
    """Return an integer that orders like the number."""
    bits = x.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _of_key(key):
    bits = key ^ ((key >> 31) & 0x7FFFFFFF)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def _measure_tiles(
    bound,
    highest,
    inverse,
    max_ptr,
    source,
    row,
    tiles,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Return (count, mass) of the allowed logits from ``bound`` on; tiles that are below it are not read."""
    count = tl.zeros((), tl.int32)
    mass = tl.zeros((), tl.float32)
    for tile in range(tiles):
        if tl.load(max_ptr + row.to(tl.int64) * tiles + tile) >= bound:
            x = _tile(source, row, tile, TABLE, GROUP, EVEN, BLOCK)
            is_above = (x >= bound) & (x > float("-inf"))
            count += tl.sum(is_above.to(tl.int32), 0)
            mass += tl.sum(tl.where(is_above, _weights(x, highest, inverse), 0.0), 0)
    return count, mass


@triton.jit
def _measure(
    bound,
    values,
    masses,
    listed,
    highest,
    inverse,
    max_ptr,
    source,
    row,
    tiles,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Do so from the list of logits and their masses, if it has room for all that are ``listed``."""
    if listed <= _LISTED:
        is_above = values >= bound
        count = tl.sum(is_above.to(tl.int32), 0)
        mass = tl.sum(tl.where(is_above, masses, 0.0), 0)
    else:
        count, mass = _measure_tiles(
            bound, highest, inverse, max_ptr, source, row, tiles, TABLE, GROUP, EVEN, BLOCK
        )
    return count, mass


@triton.jit
def _draw(weights, ids, target, END: tl.constexpr):
    """Return the first id whose running sum of weights exceeds ``target``; the last with a weight if none does."""
    sums = tl.cumsum(weights, 0)
    found = tl.min(tl.where((sums > target) & (weights > 0.0), ids, END), 0)
    return tl.where(found < END, found, tl.max(tl.where(weights > 0.0, ids, 0), 0))


@triton.jit
def _first_bound(
    top_k,
    by_count,
    wanted,
    by_mass,
    temperature,
    highest,
    inverse,
    max_ptr,
    source,
    row,
    tiles,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Return (bound, whether anything is cut): enough is above the bound, and it is not far below the threshold.

    Steps down from the highest logit, each twice as long, until ``top_k`` logits or the mass ``wanted`` are above.
    """
    low = highest
    drop = tl.maximum(temperature, _FIRST_DROP)
    is_low = (((by_count == 0) & (by_mass == 0)) | (temperature <= 0.0)) | (highest == float("inf"))
    is_cut = is_low == 0
    while is_low == 0:
        low = highest - drop
        count, mass = _measure_tiles(
            low, highest, inverse, max_ptr, source, row, tiles, TABLE, GROUP, EVEN, BLOCK
        )
        is_low = tl.where(by_count, count >= top_k, mass >= wanted) | (low == float("-inf"))
        drop = drop * 2.0
    return low, is_cut


@triton.jit
def _list_above(
    low,
    list_ptr,
    max_ptr,
    source,
    row,
    tiles,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the logits from ``low`` on to the list of the row, in the order of tokens, and return how many there are."""
    listed = tl.zeros((), tl.int32)
    at = list_ptr + row.to(tl.int64) * _LISTED
    for tile in range(tiles):
        if tl.load(max_ptr + row.to(tl.int64) * tiles + tile) >= low:
            x = _tile(source, row, tile, TABLE, GROUP, EVEN, BLOCK)
            is_above = ((x >= low) & (x > float("-inf"))).to(tl.int32)
            place = listed + tl.cumsum(is_above, 0) - 1
            tl.store(at + place, x, mask=(is_above == 1) & (place < _LISTED))
            listed += tl.sum(is_above, 0)
    return listed


@triton.jit
def _bisect(
    start,
    top_k,
    wanted,
    values,
    masses,
    listed,
    highest,
    inverse,
    max_ptr,
    source,
    row,
    tiles,
    BY_COUNT: tl.constexpr,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Return the highest bound from which on there are ``top_k`` logits, or the mass ``wanted``; from ``start`` on, there are."""
    # of integers that order like the numbers: `below` has enough from there on, `above` has not
    below = _key(start).to(tl.int64)
    above = _key(highest).to(tl.int64) + 1
    while above - below > 1:
        middle = below + (above - below) // 2
        bound = _of_key(middle.to(tl.int32))
        count, mass = _measure(
            bound, values, masses, listed, highest, inverse, max_ptr, source, row, tiles,
            TABLE, GROUP, EVEN, BLOCK,
        )  # fmt: skip
        is_enough = count >= top_k if BY_COUNT else mass >= wanted
        below = tl.where(is_enough, middle, below)
        above = tl.where(is_enough, above, middle)
    return _of_key(below.to(tl.int32))


@triton.jit
def _find_threshold(
    top_k,
    top_p,
    allowed,
    total,
    temperature,
    highest,
    inverse,
    list_ptr,
    max_ptr,
    source,
    row,
    tiles,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Return (threshold, whether it cuts): the lowest logit that top-k and top-p keep, -inf where neither cuts."""
    threshold = float("-inf")
    by_count = (top_k > 0) & (top_k < allowed)
    by_mass = top_p < 1.0
    wanted = top_p * total
    low, is_cut = _first_bound(
        top_k, by_count, wanted, by_mass, temperature, highest, inverse, max_ptr, source, row, tiles,
        TABLE, GROUP, EVEN, BLOCK,
    )  # fmt: skip
    if is_cut:
        listed = _list_above(low, list_ptr, max_ptr, source, row, tiles, TABLE, GROUP, EVEN, BLOCK)
        tl.debug_barrier()
        ids = tl.arange(0, _LISTED)
        at = list_ptr + row.to(tl.int64) * _LISTED
        values = tl.load(at + ids, mask=ids < listed, other=float("-inf"))
        masses = _weights(values, highest, inverse)
        if by_count:
            threshold = _bisect(
                low, top_k, wanted, values, masses, listed, highest, inverse, max_ptr, source, row, tiles,
                True, TABLE, GROUP, EVEN, BLOCK,
            )  # fmt: skip
            # the share of top-p is of what top-k keeps
            _, mass = _measure(
                threshold, values, masses, listed, highest, inverse, max_ptr, source, row, tiles,
                TABLE, GROUP, EVEN, BLOCK,
            )  # fmt: skip
            wanted = top_p * mass
        if by_mass:
            threshold = _bisect(
                tl.maximum(low, threshold), top_k, wanted, values, masses, listed, highest, inverse,
                max_ptr, source, row, tiles, False, TABLE, GROUP, EVEN, BLOCK,
            )  # fmt: skip
    return threshold, is_cut


@triton.jit
def _sum_kept(
    threshold,
    least,
    highest,
    inverse,
    max_ptr,
    sum_ptr,
    source,
    row,
    tiles,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the sum of each tile over, with that of the logits that are kept."""
    base = row.to(tl.int64) * tiles
    for tile in range(tiles):
        kept = tl.zeros((), tl.float32)
        top = tl.load(max_ptr + base + tile)
        if (top >= threshold) & (top > float("-inf")):
            x = _tile(source, row, tile, TABLE, GROUP, EVEN, BLOCK)
            is_kept = (x >= threshold) & (_gap(x, highest, inverse) >= least)
            kept = tl.sum(tl.where(is_kept, _weights(x, highest, inverse), 0.0), 0)
        tl.store(sum_ptr + base + tile, kept)


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
    x = _tile(source, row, tile, TABLE, GROUP, EVEN, BLOCK)
    is_kept = (x >= threshold) & (_gap(x, highest, inverse) >= least)
    # by the tile's own highest: far below the row's, all weights would be 0
    weights = tl.where(is_kept, _weights(x, tl.max(x, 0), inverse), 0.0)
    ids = tl.arange(0, BLOCK)
    place = _draw(weights, ids, v * tl.sum(weights, 0), BLOCK)
    chosen = tl.max(tl.where(ids == place, x, float("-inf")), 0)
    return (tile * BLOCK + place).to(tl.int64), _gap(chosen, highest, inverse) - tl.log(total)


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
    list_ptr,
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
):
    """Draw the token of one row: a program each."""
    source = (logits_ptr, logits_stride, mask_ptr, mask_stride, entry_ptr, columns, width)
    row = tl.program_id(0)
    base = row.to(tl.int64) * tiles
    numbers = tl.arange(0, TILES)
    is_tile = numbers < tiles
    maxima = tl.load(max_ptr + base + numbers, mask=is_tile, other=float("-inf"))
    highest = tl.max(maxima, 0)
    temperature, inverse = _load_temperature(temperature_ptr, row)
    sums = tl.load(sum_ptr + base + numbers, mask=is_tile, other=0.0) * _weights(maxima, highest, inverse)
    threshold = float("-inf")
    least = float("-inf")
    if CUT:
        total = tl.sum(sums, 0)
        allowed = tl.sum(tl.load(count_ptr + base + numbers, mask=is_tile, other=0), 0)
        top_k = tl.load(top_k_ptr + row)
        top_p = tl.load(top_p_ptr + row)
        threshold, is_cut = _find_threshold(
            top_k, top_p, allowed, total, temperature, highest, inverse, list_ptr, max_ptr, source, row, tiles,
            TABLE, GROUP, EVEN, BLOCK,
        )  # fmt: skip
        min_p = tl.load(min_p_ptr + row)
        is_least = (min_p > 0.0) & (temperature > 0.0)
        if is_least:
            least = tl.minimum(tl.log(min_p), 0.0)  # the highest stays, whatever is asked
        if is_cut | is_least:
            tl.debug_barrier()  # all sums have been read before the first is written over
            _sum_kept(
                threshold, least, highest, inverse, max_ptr, sum_ptr, source, row, tiles,
                TABLE, GROUP, EVEN, BLOCK,
            )  # fmt: skip
            tl.debug_barrier()
            sums = tl.load(sum_ptr + base + numbers, mask=is_tile, other=0.0)
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
    """Draw a token for each row. All arguments have been checked, and lie on the device of the logits.

    Shapes: logits (rows, width); masks (rows, words), or with ``entries`` (rows, 16) the rows of a mask table;
        parameters (rows,) each; tokens (rows,) int64 and logprobs (rows,) fp32 take the result.
    """
    rows, width = logits.shape
    if not rows:
        return
    tiles = triton.cdiv(width, TILE)
    group = 16 // logits.element_size()
    source = (logits, logits.stride(0), masks, masks.stride(0), masks if entries is None else entries)
    how = {"TABLE": entries is not None, "GROUP": group, "EVEN": width % group == 0, "BLOCK": TILE}
    left = [workspace[name] for name in ("max", "sum", "best", "count")]
    with on_device(logits):
        _tiles_kernel[(rows * tiles,)](
            *source, parameters["temperature"], *left, tiles, columns, width, **how, num_warps=TILE_WARPS
        )
        _rows_kernel[(rows,)](
            *source,
            *(parameters[n] for n in ("temperature", "top_k", "top_p", "min_p", "seeds", "steps")),
            *left,
            workspace["list"],
            tokens,
            logprobs,
            tiles,
            columns,
            width,
            CUT=cut,
            **how,
            TILES=max(16, triton.next_power_of_2(tiles)),
            num_warps=ROW_WARPS,
        )
