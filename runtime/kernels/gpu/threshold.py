"""Find the lowest logit that top-k and top-p keep, exactly, with the threads of one program for a row.

The threshold is between two keys, integers that order like fp32 numbers: a threshold of ``below`` keeps enough, and one of
``above`` not enough. The highest logits of the parts of a row, 64 tokens each, give a first ``below`` without reading a logit:
if ``k`` of them are at least some number, so are ``k`` logits. If at most 1,024 logits are between the keys, they are listed, and
the search continues in registers. If there are more (a flat distribution, most of which is kept), passes over the logits count
and weigh the logits above eight bounds at a time; the first eight bounds come from a sample. Parts whose highest logit is below
the lowest bound of a pass are not read.
"""

from __future__ import annotations

import triton
import triton.language as tl

from stackmask.runtime.kernels.gpu.sizes import LISTED
from stackmask.runtime.kernels.gpu.tiles import allowed_at, logits_of, weights_of

BOUNDS = 8  # of a pass

_LISTED = tl.constexpr(LISTED)
_BOUNDS = tl.constexpr(BOUNDS)
# passes whose bounds lie evenly between numbers; those after them lie between keys, so that the search ends
_LINEAR = tl.constexpr(5)
_SAMPLED = tl.constexpr(4)  # rounds over a sample
# what is further below the highest, in units of the temperature, weighs next to nothing (e^-64)
_DEEPEST = tl.constexpr(64.0)
_LARGE = tl.constexpr(1e38)  # differences of such numbers are finite
_NEAR = tl.constexpr(1024.0)  # numbers further apart are searched by keys


@triton.jit
def key_of(x):
    """Return an integer that orders like the number, as int64."""
    bits = x.to(tl.int32, bitcast=True)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.int64)


@triton.jit
def of_key(key):
    """Return the number of a key."""
    short = key.to(tl.int32)
    return (short ^ ((short >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)


@triton.jit
def order_parts(maxima, bound, parts, order_ptr, PARTS: tl.constexpr):
    """List the parts with an allowed logit from ``bound`` on, in their order; return their number."""
    numbers = tl.arange(0, PARTS)
    is_in = ((numbers < parts) & (maxima >= bound) & (maxima > float("-inf"))).to(tl.int32)
    tl.debug_barrier()  # who read the list before is done
    tl.store(order_ptr + tl.cumsum(is_in, 0) - 1, numbers, mask=is_in == 1)
    tl.debug_barrier()
    return tl.sum(is_in, 0)


@triton.jit
def parts_at(
    source,
    row,
    order_ptr,
    start,
    count,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    PART: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Return the logits of ``CHUNK`` listed parts from place ``start`` on, -inf past the end of the list."""
    groups = tl.arange(0, CHUNK * PART // GROUP)
    place = start + groups * GROUP // PART
    is_there = place < count
    part = tl.load(order_ptr + place, mask=is_there, other=0)
    starts = part * PART + groups * GROUP % PART
    allowed = allowed_at(source, row, starts, 0, 1 << 30, TABLE, GROUP)
    return logits_of(source, row, starts, tl.where(is_there, allowed, 0), is_there, GROUP, EVEN)


@triton.jit
def _search(values, scores, base, goal, below, above):
    """Return the highest key from which on the scores of the values, and ``base``, reach the goal; from ``below`` on they do.

    Eight bounds at a time, since what takes time is that the threads wait for one another.
    """
    js = tl.arange(0, _BOUNDS)
    while above - below > 1:
        keys = tl.minimum(below + 1 + (above - below) * js // _BOUNDS, above - 1)
        is_from = values[:, None] >= of_key(keys)[None, :]
        is_enough = base + tl.sum(tl.where(is_from, scores[:, None], 0.0), 0) >= goal
        below = tl.max(tl.where(is_enough, keys, below), 0)
        above = tl.min(tl.where(is_enough, above, keys), 0)
    return below


@triton.jit
def _list_between(
    below,
    above,
    maxima,
    parts,
    order_ptr,
    list_ptr,
    source,
    row,
    inverse,
    peak,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Write the logits from key ``below`` on, and before ``above``, to the list of the row.

    Return how many there are, and their mass; the list has the first 1,024 of them.
    """
    low = of_key(below)
    # what has key 0 is zero; the key before it is that of minus zero, which is as large: no logit has it
    last = of_key(tl.where(above == 0, -2, above - 1))
    count = order_parts(maxima, low, parts, order_ptr, PARTS)
    listed = tl.zeros((), tl.int32)
    mass = tl.zeros((), tl.float32)
    for start in range(0, count, CHUNK):
        x = parts_at(source, row, order_ptr, start, count, TABLE, GROUP, EVEN, PART, CHUNK)
        is_in = ((x >= low) & (x <= last) & (x > float("-inf"))).to(tl.int32)
        place = listed + tl.cumsum(is_in, 0) - 1
        tl.store(list_ptr + place, x, mask=(is_in == 1) & (place < _LISTED))
        listed += tl.sum(is_in, 0)
        mass += tl.sum(tl.where(is_in == 1, weights_of(x, peak, inverse), 0.0), 0)
    tl.debug_barrier()
    return listed, mass


@triton.jit
def _highest_of(numbers, is_chosen):
    """Return the highest of some of the numbers."""
    return tl.max(tl.where(is_chosen, numbers, float("-inf")), 0)


@triton.jit
def _guess(
    goal,
    by_count,
    total,
    below,
    highest,
    inverse,
    parts,
    source,
    row,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    PART: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Return probable bounds of the threshold, from a sample of ``CHUNK`` parts of the row.

    Above the lower bound, the sample exceeds the goal by two standard deviations; above the upper one, it misses the goal by two.
    Two parallel searches with eight bounds per round find them; ``is_low`` marks the first one. The result only selects bounds,
    so that any result is correct.
    """
    groups = tl.arange(0, CHUNK * PART // GROUP)
    part = groups * GROUP // PART * parts // CHUNK
    starts = part * PART + groups * GROUP % PART
    allowed = allowed_at(source, row, starts, 0, 1 << 30, TABLE, GROUP)
    x = logits_of(source, row, starts, allowed, starts >= 0, GROUP, EVEN)
    is_in = x >= of_key(below)
    weights = weights_of(x, highest, inverse)
    scores = tl.where(is_in, tl.where(by_count, 1.0, weights), 0.0)
    share = goal / total
    spread = 2.0 * tl.sqrt(tl.maximum(tl.sum(scores * scores, 0) * share * (1.0 - share), 0.0))
    js = tl.arange(0, 2 * _BOUNDS)
    is_low = js < _BOUNDS
    aims = tl.sum(scores, 0) * share + tl.where(is_low, spread, -spread)
    most = tl.minimum(tl.maximum(highest, -_LARGE), _LARGE)
    least = tl.maximum(tl.min(tl.where(is_in, x, highest), 0), -_LARGE)
    least = tl.minimum(tl.where(by_count, least, tl.maximum(least, most - _DEEPEST / inverse)), most)
    # what each search has between: a number for each of its bounds, all equal
    lows = tl.where(is_low, least, least)
    highs = tl.where(is_low, most, most)
    for _ in range(_SAMPLED):
        bounds = lows + (highs - lows) * ((js % _BOUNDS + 1.0) / (_BOUNDS + 1))
        sums = tl.sum(tl.where(x[:, None] >= bounds[None, :], scores[:, None], 0.0), 0)
        is_enough = sums >= aims
        lows = tl.where(is_enough, bounds, lows)
        highs = tl.where(is_enough, highs, bounds)
        lows = tl.where(is_low, _highest_of(lows, is_low), _highest_of(lows, is_low == 0))
        highs = tl.where(is_low, -_highest_of(-highs, is_low), -_highest_of(-highs, is_low == 0))
    return tl.min(lows, 0), tl.max(highs, 0)


@triton.jit
def _bound(j: tl.constexpr, number, below, above, low, high):
    """Return the key of bound ``j`` of a pass, the highest first; all are between ``below`` and ``above``.

    The first pass has its bounds from ``high`` down to ``low``.
    """
    steps = (above - below) * (j + 1) // (_BOUNDS + 1)
    key = above - steps
    if number == 0:
        key = key_of(high - (high - low) * (j / (_BOUNDS - 1)))
    elif number < _LINEAR:
        top = of_key(above - 1)
        span = top - of_key(below)
        if span < _NEAR:
            key = key_of(top - span * ((j + 1.0) / (_BOUNDS + 1)))
    return tl.minimum(tl.maximum(key, below + 1), above - 1)


@triton.jit
def _measure(
    number,
    below,
    above,
    low,
    high,
    highest,
    inverse,
    maxima,
    parts,
    order_ptr,
    source,
    row,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Return (counts, masses) of the logits from each bound of a pass on."""
    js = tl.arange(0, _BOUNDS)[None, :]
    # of each group of logits, which are a thread's own: threads wait for one another at the end alone
    counts = tl.zeros((CHUNK * PART // GROUP, _BOUNDS), tl.float32)
    masses = tl.zeros((CHUNK * PART // GROUP, _BOUNDS), tl.float32)
    least = of_key(_bound(_BOUNDS - 1, number, below, above, low, high))
    count = order_parts(maxima, least, parts, order_ptr, PARTS)
    for start in range(0, count, CHUNK):
        x = parts_at(source, row, order_ptr, start, count, TABLE, GROUP, EVEN, PART, CHUNK)
        x = tl.reshape(x, (CHUNK * PART // GROUP, GROUP))
        weights = weights_of(x, highest, inverse)
        for j in tl.static_range(_BOUNDS):
            is_above = x >= of_key(_bound(j, number, below, above, low, high))  # no bound is -inf
            c = tl.sum(is_above.to(tl.float32), 1)
            m = tl.sum(tl.where(is_above, weights, 0.0), 1)
            counts += tl.where(js == j, c[:, None], 0.0)
            masses += tl.where(js == j, m[:, None], 0.0)
    return tl.sum(counts, 0), tl.sum(masses, 0)


@triton.jit
def _narrow(
    goal,
    by_count,
    below,
    above,
    count_below,
    mass_below,
    base_count,
    base_mass,
    highest,
    inverse,
    maxima,
    parts,
    order_ptr,
    source,
    row,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Narrow the interval from ``below`` to ``above``, with the kept amounts, until the logits in it can be listed."""
    js = tl.arange(0, _BOUNDS)
    number = tl.zeros((), tl.int32)
    low = highest
    high = highest
    if count_below - base_count > _LISTED:
        low, high = _guess(
            goal, by_count, tl.where(by_count, count_below, mass_below), below, highest, inverse, parts, source, row,
            TABLE, GROUP, EVEN, PART, CHUNK,
        )  # fmt: skip
    while (count_below - base_count > _LISTED) & (above - below > 1):
        counts, masses = _measure(
            number, below, above, low, high, highest, inverse, maxima, parts, order_ptr, source, row,
            TABLE, GROUP, EVEN, PART, PARTS, CHUNK,
        )  # fmt: skip
        old_below = below
        old_above = above
        for j in tl.static_range(_BOUNDS):
            key = _bound(j, number, old_below, old_above, low, high)
            c = tl.sum(tl.where(js == j, counts, 0.0), 0)
            m = tl.sum(tl.where(js == j, masses, 0.0), 0)
            is_enough = tl.where(by_count, c, m) >= goal
            is_lower = is_enough & (key > below) & (key < above)
            is_upper = (is_enough == 0) & (key < above) & (key > below)
            below = tl.where(is_lower, key, below)
            count_below = tl.where(is_lower, c, count_below)
            mass_below = tl.where(is_lower, m, mass_below)
            above = tl.where(is_upper, key, above)
            base_count = tl.where(is_upper, c, base_count)
            base_mass = tl.where(is_upper, m, base_mass)
        number += 1
    return below, above, count_below, mass_below, base_count, base_mass


@triton.jit
def find_threshold(
    top_k,
    top_p,
    allowed,
    total,
    highest,
    inverse,
    maxima,
    parts,
    order_ptr,
    list_ptr,
    source,
    row,
    TABLE: tl.constexpr,
    GROUP: tl.constexpr,
    EVEN: tl.constexpr,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Return the lowest logit that top-k and then top-p keep; -inf if they keep all.

    ``maxima`` are the highest logits of the parts, ``allowed`` and ``total`` the number and the mass of allowed logits.
    """
    ids = tl.arange(0, _LISTED)
    ceiling = key_of(highest) + 1
    below = key_of(tl.full((), float("-inf"), tl.float32)) + 1
    above = ceiling
    count_below = allowed.to(tl.float32)
    mass_below = total
    base_count = tl.zeros((), tl.float32)
    base_mass = tl.zeros((), tl.float32)
    listed = tl.zeros((), tl.int32)
    is_listed = tl.full((), 0, tl.int32)  # whether all logits from `below` on are
    threshold = tl.full((), float("-inf"), tl.float32)
    top_weights = weights_of(maxima, highest, inverse)
    for stage in range(2):
        by_count = stage == 0
        goal = tl.where(by_count, top_k.to(tl.float32), top_p * mass_below)
        is_cut = tl.where(by_count, (top_k > 0) & (top_k < allowed), top_p < 1.0)
        if is_cut:
            if is_listed == 0:
                above = ceiling
                base_count = tl.zeros((), tl.float32)
                base_mass = tl.zeros((), tl.float32)
                scores = tl.where(by_count, (maxima > float("-inf")).to(tl.float32), top_weights)
                if tl.sum(scores, 0) >= goal:
                    below = tl.maximum(below, _search(maxima, scores, 0.0, goal, below, above))
                    listed, mass_below = _list_between(
                        below, above, maxima, parts, order_ptr, list_ptr, source, row, inverse, highest,
                        TABLE, GROUP, EVEN, PART, PARTS, CHUNK,
                    )  # fmt: skip
                    is_listed = (listed <= _LISTED).to(tl.int32)
                    count_below = listed.to(tl.float32)
                if is_listed == 0:
                    below, above, count_below, mass_below, base_count, base_mass = _narrow(
                        goal, by_count, below, above, count_below, mass_below, base_count, base_mass,
                        highest, inverse, maxima, parts, order_ptr, source, row,
                        TABLE, GROUP, EVEN, PART, PARTS, CHUNK,
                    )  # fmt: skip
                    listed = tl.zeros((), tl.int32)
                    if above - below > 1:
                        listed, _ = _list_between(
                            below, above, maxima, parts, order_ptr, list_ptr, source, row, inverse, highest,
                            TABLE, GROUP, EVEN, PART, PARTS, CHUNK,
                        )  # fmt: skip
                    is_listed = (base_count == 0.0).to(tl.int32) & (above - below > 1).to(tl.int32)
            values = tl.load(list_ptr + ids, mask=ids < listed, other=float("-inf"))
            masses = weights_of(values, highest, inverse)
            ones = (ids < listed).to(tl.float32)
            if above - below > 1:
                below = _search(
                    values,
                    tl.where(by_count, ones, masses),
                    tl.where(by_count, base_count, base_mass),
                    goal,
                    below,
                    above,
                )
                is_above = values >= of_key(below)
                count_below = base_count + tl.sum(tl.where(is_above, ones, 0.0), 0)
                mass_below = base_mass + tl.sum(tl.where(is_above, masses, 0.0), 0)
            threshold = of_key(below)
    return threshold
