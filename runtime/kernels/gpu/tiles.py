"""The sampling kernels' view of a row of logits: tiles of 1,024 tokens as fp32, their weights, and temperatures.

``source`` is (logits, their stride, masks, their stride, entries, columns, width), as passed to the kernels.
"""

from __future__ import annotations

import triton
import triton.language as tl

from stackmask.runtime.kernels.gpu.masks import load_groups

_COLDEST = tl.constexpr(2.0**-125)
_HOTTEST = tl.constexpr(2.0**125)


@triton.jit
def allowed_at(source, row, starts, first, count, TABLE: tl.constexpr, GROUP: tl.constexpr):
    """Return the mask bits of the groups of tokens at ``starts``, which are of the tokens first … first + count."""
    _, _, mask_ptr, mask_stride, entry_ptr, columns, _ = source
    return load_groups(mask_ptr, mask_stride, entry_ptr, row, starts, first, count, columns, TABLE, GROUP)


@triton.jit
def logits_of(source, row, starts, allowed, is_wanted, GROUP: tl.constexpr, EVEN: tl.constexpr):
    """Return the logits of groups of tokens, one after the other: fp32, -inf where a token is forbidden or its logit NaN.

    ``allowed`` are the mask bits of the groups at ``starts``; ``is_wanted`` selects the groups to read: ``allowed != 0`` reads only
    the necessary ones, but must wait for the mask; other values allow reads in parallel with it.
    """
    logits_ptr, logits_stride, _, _, _, _, width = source
    lanes = tl.arange(0, GROUP)
    tokens = starts[:, None] + lanes[None, :]
    is_allowed = ((allowed[:, None] >> lanes[None, :]) & 1) == 1
    if EVEN:
        # one predicate a group, so that loads stay 16 bytes wide
        is_read = (is_wanted & (starts < width))[:, None] & (lanes >= 0)[None, :]
    else:
        is_read = is_wanted[:, None] & (tokens < width)
    x = tl.load(logits_ptr + row.to(tl.int64) * logits_stride + tokens, mask=is_read, other=0.0).to(
        tl.float32
    )
    # minus zero is zero: what is equal must have the same bits
    is_number = x == x  # noqa: PLR0124
    x = tl.where(is_allowed & is_number, x + 0.0, float("-inf"))
    return tl.reshape(x, (starts.shape[0] * GROUP,))


@triton.jit
def tile_at(
    source, row, tile, TABLE: tl.constexpr, GROUP: tl.constexpr, EVEN: tl.constexpr, BLOCK: tl.constexpr
):
    """Return the logits of one tile."""
    first = tile * BLOCK
    starts = first + tl.arange(0, BLOCK // GROUP) * GROUP
    allowed = allowed_at(source, row, starts, first, BLOCK, TABLE, GROUP)
    return logits_of(source, row, starts, allowed, allowed != 0, GROUP, EVEN)


@triton.jit
def gap(x, highest, inverse):
    """Return (x - highest) * inverse: 0 for the highest, without subtracting infinities."""
    below = tl.where(x == highest, 0.0, x) - tl.where(highest == float("-inf"), 0.0, highest)
    return tl.where(x == highest, 0.0, below * inverse)


@triton.jit
def weights_of(x, highest, inverse):
    """Return exp((x - highest) * inverse), 1 for the highest and 0 for -inf, infinities included."""
    return tl.where(x == float("-inf"), 0.0, tl.exp(gap(x, highest, inverse)))


@triton.jit
def load_temperature(temperature_ptr, row):
    """Return the temperature of a row and its inverse, 1 if the highest logit is selected.

    Numbers on the device have not been checked: those that are not above 0 (or NaN) count as 0, so that every loop
    below ends; others are clamped to 2^-125 … 2^125, so that inverses are neither infinite nor denormal.
    """
    given = tl.load(temperature_ptr + row)
    temperature = tl.where(given > 0.0, tl.maximum(tl.minimum(given, _HOTTEST), _COLDEST), 0.0)
    return temperature, tl.where(temperature > 0.0, 1.0 / tl.where(temperature > 0.0, temperature, 1.0), 1.0)
