# distutils: language = c++
"""Represent masks by rows in the engine, for tables of rows elsewhere, as on a GPU.

Most masks equal a row of the engine, or the union of a few rows, except for a few tokens: tokens that were
tried on the actual configuration, and stop tokens. The difference is taken from the finished mask, so the
representation is exact.
"""

from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy

from stackmask.pda.ids cimport FAILED, RowId
from stackmask.pda.masks.arena cimport MASK_OPERANDS, MASK_PATCHED, MASK_ROW, MaskBits, MaskRef
from stackmask.pda.memory.byte_sets cimport lowest_bit, ones
from stackmask.runtime.matching.matcher cimport Matcher


class MaskRows:
    """A mask as the union of some rows of a store, with some tokens flipped, or as its words if that would be
    too long.

    ``source`` and ``epoch`` identify the numbering of the ``rows``; a row keeps its content during an epoch.
    Without rows and tokens, the mask allows nothing. ``words`` is None, or the bytes of the whole mask.
    """

    __slots__ = ("epoch", "rows", "source", "tokens", "words")

    def __init__(self, source, epoch, rows, tokens, words=None):
        self.source = source
        self.epoch = epoch
        self.rows = rows
        self.tokens = tokens
        self.words = words

    def is_empty(self):
        """Return whether no token is allowed."""
        return not self.rows and not self.tokens and self.words is None


cdef object name_rows(
    MaskEngine store,
    ConfigSpace family,
    int32_t config,
    const vector[int32_t]& stops,
    Py_ssize_t max_rows,
    Py_ssize_t max_tokens,
):
    """Return the mask of a configuration as ``MaskRows`` with a limited number of rows and tokens.

    ``stops``: the tokens allowed where the text may end. The caller holds the lock of the store.
    Cost: a look-up if the engine has the row of the whole mask; otherwise that of filling the mask, and a
    pass over each row of which it consists.
    """
    cdef vector[uint32_t] words
    cdef MaskRef mask = store.reference(family, config)
    if mask.kind != MASK_ROW and mask.kind != MASK_PATCHED:
        words.resize(store.width)
        fill_with_stops(store, family, config, stops, words.data())
        mask = store.reference(family, config)
        if mask.kind == MASK_OPERANDS:
            return name_union(store, mask, words, max_rows, max_tokens)
    found = name_one(store, family, config, mask, stops, max_rows, max_tokens)
    if found is None and max_rows and mask.kind == MASK_PATCHED and store.bits(mask).row != NULL:
        # it is named again and again, and a row is sent once
        words.resize(store.width)
        store.write_mask(mask, words.data())
        mask = store.intern_mask(family, config, words.data())
        found = name_one(store, family, config, mask, stops, max_rows, max_tokens)
    if found is not None:
        return found
    words.resize(store.width)
    fill_with_stops(store, family, config, stops, words.data())
    return MaskRows(store, store.epoch, (), (), copied(words))


cdef object name_one(
    MaskEngine store,
    ConfigSpace family,
    int32_t config,
    MaskRef mask,
    const vector[int32_t]& stops,
    Py_ssize_t max_rows,
    Py_ssize_t max_tokens,
):
    """Return a mask as at most one row, or None if this needs too many rows and tokens."""
    cdef vector[int32_t] flips
    cdef MaskBits bits = store.bits(mask)
    if bits.row != NULL and not max_rows:
        return None
    if not find_flips(bits, family.configs[config].accepting, stops, max_tokens, flips):
        return None
    return MaskRows(store, store.epoch, (bits.row_number,) if bits.row != NULL else (), tuple(flips))


cdef object name_union(
    MaskEngine store, MaskRef mask, vector[uint32_t]& exact, Py_ssize_t max_rows, Py_ssize_t max_tokens
):
    """Return a mask in terms of the largest rows among its operands. ``exact``: its words, with stop tokens.
    """
    cdef int32_t width = store.width, count, k
    cdef size_t i, largest
    cdef uint32_t left
    cdef const uint32_t* words
    cdef vector[uint32_t] joined
    cdef vector[RowId] candidates
    cdef vector[int32_t] sizes
    cdef list tokens = []
    cdef list rows = []
    store.operand_rows(mask, candidates)
    for i in range(candidates.size()):
        words = store.row_words(candidates[i])
        count = 0
        for k in range(width):
            count += ones(words[k])
        sizes.push_back(count)
    joined.resize(width, 0)
    while <Py_ssize_t>len(rows) < max_rows and <size_t>len(rows) < candidates.size():
        largest = 0
        for i in range(sizes.size()):
            if sizes[i] > sizes[largest]:
                largest = i
        sizes[largest] = -1
        rows.append(candidates[largest])
        words = store.row_words(candidates[largest])
        for k in range(width):
            joined[k] |= words[k]
    for k in range(width):
        left = joined[k] ^ exact[k]
        while left:
            if <Py_ssize_t>len(tokens) == max_tokens:
                return MaskRows(store, store.epoch, (), (), copied(exact))
            tokens.append(32 * k + lowest_bit(left))
            left &= left - 1
    return MaskRows(store, store.epoch, tuple(rows), tuple(tokens))


cdef bint find_flips(
    MaskBits mask, bint accepting, const vector[int32_t]& stops, Py_ssize_t most, vector[int32_t]& tokens
) except FAILED:
    """Record the tokens in which a mask, with stop tokens if ``accepting``, differs from its row.

    Return False if there are more than ``most``.
    """
    cdef int32_t i, word, token
    cdef uint32_t left, bits
    cdef size_t k
    tokens.clear()
    for i in range(mask.patch_count):
        word = mask.patches[i].word
        left = mask.patches[i].bits ^ (mask.row[word] if mask.row != NULL else 0)
        while left:
            if <Py_ssize_t>tokens.size() == most:
                return False
            tokens.push_back(32 * word + lowest_bit(left))
            left &= left - 1
    if accepting:
        for k in range(stops.size()):
            token = stops[k]
            bits = mask.row[token >> 5] if mask.row != NULL else 0
            for i in range(mask.patch_count):
                if mask.patches[i].word == token >> 5:
                    bits = mask.patches[i].bits
            if (bits >> (token & 31)) & 1:
                continue
            # no token is flipped twice: what is patched in another way is a flip already
            if not drop_token(tokens, token):
                if <Py_ssize_t>tokens.size() == most:
                    return False
                tokens.push_back(token)
    return True


cdef bint drop_token(vector[int32_t]& tokens, int32_t token) noexcept:
    """Remove a token from a list. Return whether the list contained it."""
    cdef size_t k
    for k in range(tokens.size()):
        if tokens[k] == token:
            tokens.erase(tokens.begin() + k)
            return True
    return False


cdef bytes copied(vector[uint32_t]& words):
    return (<const char*>words.data())[:4 * words.size()]


# ------------------------------------------------------------------------------------------------
# What a table of rows on a device asks of matchers: entries that name its rows, and rows to send.
# ------------------------------------------------------------------------------------------------


def copy_row(Matcher matcher not None, epoch, row, target):
    """Copy a row of the matcher's store to the address ``target``; return False if its epoch is over."""
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
    """Return the table row that equals a matcher's mask except for ``flips``; None without such a row."""
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
    """Write the table entries of matchers whose mask is a single row in ``slots``; return the numbers of the
    other matchers.

    ``slots`` maps (id of the store, epoch, row) to a row of the table; ``used_at`` records the step of its
    last use. Entries are rows, then from ``max_rows`` on tokens, and are initialised to -1. A matcher that is
    None has row 0.
    Cost: a few look-ups for each matcher; masks are not read.
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
