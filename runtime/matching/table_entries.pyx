# distutils: language = c++
"""What a table of rows on a device asks of matchers: entries that name its rows, and rows to send."""

from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.masks.shared.mask_ref cimport MASK_PATCHED, MASK_ROW, MaskBits, MaskRef
from stackmask.runtime.matching.matcher cimport Matcher
from stackmask.runtime.matching.row_references cimport find_flips


def copy_row(Matcher matcher not None, epoch, row, target):
    """Copy a row of the matcher's store to the address ``target``; False if its epoch is over."""
    cdef MaskEngine store = matcher.masks
    cdef uintptr_t address = target
    cdef int32_t number = row
    cdef bint done = False, found
    matcher.lock.take(matcher.account)
    try:
        found = epoch == store.epoch
        if found:
            memcpy(<void*>address, store.row_words(number), 4 * <size_t>store.width)
        done = True
    finally:
        matcher.lock.give(done)
    return found


cdef object find_slot(Matcher matcher, dict slots, Py_ssize_t max_tokens, vector[int32_t]& flips):
    """Return the row of the table that a matcher's mask is, but for ``flips``; None if there is none."""
    cdef MaskEngine store = matcher.masks
    cdef int32_t config = matcher.history.back()
    cdef MaskBits bits
    cdef MaskRef mask = store.reference(matcher.family, config)
    if mask.kind != MASK_ROW and mask.kind != MASK_PATCHED:
        return None
    bits = store.bits(mask)
    if bits.row == NULL:
        return None
    if not find_flips(bits, matcher.family.configs[config].accepting, matcher.stops, max_tokens, flips):
        return None
    return slots.get((<uintptr_t><void*>store, store.epoch, bits.row_number))


def fill_entries(
    matchers, dict slots, int32_t[:, ::1] entries, int64_t[::1] used_at, int64_t step, Py_ssize_t max_rows=4
):
    """Write the entries of matchers whose mask is one row that ``slots`` has; return the other numbers.

    ``slots`` maps (id of the store, epoch, row) to a row of the table; ``used_at`` takes the step of its last
    use. Entries are rows, then from ``max_rows`` on tokens, and hold -1 before. A matcher that is None has
    row 0.
    Cost: some look-ups a matcher; nothing of the mask is read.
    """
    cdef Matcher matcher
    cdef vector[int32_t] flips
    cdef Py_ssize_t i, k, width = entries.shape[1]
    cdef int32_t slot
    cdef list left = []
    cdef bint done
    for i in range(len(matchers)):
        if matchers[i] is None:
            entries[i, 0] = 0
            continue
        if not isinstance(matchers[i], Matcher):
            left.append(i)
            continue
        matcher = matchers[i]
        found = None
        done = False
        matcher.lock.take(matcher.account)
        try:
            if not matcher.terminated:
                found = find_slot(matcher, slots, width - max_rows, flips)
            done = True
        finally:
            matcher.lock.give(done)
        if found is None:
            left.append(i)
            continue
        slot = found
        entries[i, 0] = slot
        for k in range(<Py_ssize_t>flips.size()):
            entries[i, max_rows + k] = flips[k]
        used_at[slot] = step
    return left
