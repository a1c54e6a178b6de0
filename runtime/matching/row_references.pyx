# distutils: language = c++
"""Masks named by the rows that the engine keeps, for tables of rows that live elsewhere (on a GPU).

Most masks are a row that the engine has already, or a few of them or-ed, give or take a few tokens: those
that are run on the real configuration, and stop tokens. The difference is taken from the finished mask, so
what is named is the mask, bit for bit.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uintptr_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from stackmask.pda.masks.arena cimport NO_FILTER
from stackmask.pda.memory.byte_sets cimport lowest_bit
from stackmask.pda.masks.engine cimport MaskStore
from stackmask.pda.masks.assembly.mask_cache cimport NO_MASK, PATCHED, Patch, Patched
from stackmask.runtime.matching.matcher cimport Matcher


cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    static inline int stackmask_ones(unsigned int w) { return __builtin_popcount(w); }
    #else
    static inline int stackmask_ones(unsigned int w) { int n = 0; for (; w; w &= w - 1) n++; return n; }
    #endif
    """
    int ones "stackmask_ones"(unsigned int word) noexcept nogil


class MaskRows:
    """A mask: the union of some rows of a store, with some tokens flipped; or its words, if that is too long.

    ``source`` and ``epoch`` say of what numbering the ``rows`` are; a row keeps its content in an epoch. No
    rows and no tokens is the mask that allows nothing. ``words`` is None, or the bytes of the whole mask.
    """

    __slots__ = ("epoch", "rows", "source", "tokens", "words")

    def __init__(self, source, epoch, rows, tokens, words=None):
        self.source = source
        self.epoch = epoch
        self.rows = rows
        self.tokens = tokens
        self.words = words

    def is_empty(self):
        """Tell whether nothing is allowed."""
        return not self.rows and not self.tokens and self.words is None


def mask_rows(Matcher matcher not None, Py_ssize_t max_rows=4, Py_ssize_t max_tokens=12):
    """Return the mask at the matcher's place as ``MaskRows`` of at most so many rows and tokens.

    Cost: where the engine has the row of the whole mask, a look-up; else that of filling it, and a pass over
    each row that it is put together from.
    """
    cdef bint done = False
    matcher.lock.take()
    try:
        found = rows_at(matcher, max_rows, max_tokens)
        done = True
    finally:
        matcher.lock.give(done)
    return found


cdef bint find_flips(Matcher m, int32_t whole, Py_ssize_t most, vector[int32_t]& tokens) except -1:
    """Note the tokens in which the mask of a matcher's place, whose id is given, is not its row.

    Return False if they are more than ``most``. The row is ``row_under`` the mask.
    """
    cdef MaskStore store = m.masks
    cdef Patched p
    cdef Patch patch
    cdef int32_t i, token, row = row_under(store, whole)
    cdef uint32_t left, bits
    cdef size_t k
    tokens.clear()
    if whole < 0:
        p = store.cache.patched[PATCHED - whole]
        for i in range(p.first, p.first + p.count):
            patch = store.cache.patches[i]
            left = patch.bits ^ (store.arena.rows[row][patch.word] if row >= 0 else 0)
            while left:
                if <Py_ssize_t>tokens.size() == most:
                    return False
                tokens.push_back(32 * patch.word + lowest_bit(left))
                left &= left - 1
    if m.family.configs[m.history.back()].accepting:
        for k in range(m.stops.size()):
            token = m.stops[k]
            bits = store.arena.rows[row][token >> 5] if row >= 0 else 0
            if whole < 0:
                for i in range(p.first, p.first + p.count):
                    if store.cache.patches[i].word == token >> 5:
                        bits = store.cache.patches[i].bits
            if (bits >> (token & 31)) & 1:
                continue
            # no token is flipped twice: what is patched in another way is a flip already
            if not drop_token(tokens, token):
                if <Py_ssize_t>tokens.size() == most:
                    return False
                tokens.push_back(token)
    return True


cdef bint drop_token(vector[int32_t]& tokens, int32_t token) noexcept:
    """Take a token out of a list. Return whether it was there."""
    cdef size_t k
    for k in range(tokens.size()):
        if tokens[k] == token:
            tokens.erase(tokens.begin() + k)
            return True
    return False


cdef int32_t row_under(MaskStore store, int32_t whole) noexcept:
    """Return the row that a whole mask is much like, or -1."""
    return whole if whole >= 0 else store.cache.patched[PATCHED - whole].base


cdef object named(Matcher m, int32_t whole, Py_ssize_t max_rows, Py_ssize_t max_tokens):
    """Return a mask that has an id, or None if that takes too many rows and tokens."""
    cdef vector[int32_t] flips
    cdef int32_t row = row_under(m.masks, whole)
    if (row >= 0 and not max_rows) or not find_flips(m, whole, max_tokens, flips):
        return None
    return MaskRows(m.masks, m.masks.epoch, (row,) if row >= 0 else (), tuple(flips))


cdef object rows_at(Matcher m, Py_ssize_t max_rows, Py_ssize_t max_tokens):
    cdef MaskStore store = m.masks
    cdef int32_t config = m.history.back(), k, row, whole, width = store.width, best
    cdef bint is_new
    cdef size_t i, j
    cdef uint32_t left
    cdef vector[uint32_t] exact, joined
    cdef vector[int32_t] candidates, sizes
    cdef list tokens = []
    if m.terminated:
        return MaskRows(store, store.epoch, (), ())
    whole = store.finished(m.family, config)
    if whole == NO_MASK:
        exact.resize(width)
        m.fill_row(config, False, exact.data())
        whole = store.finished(m.family, config)
    if whole != NO_MASK:
        found = named(m, whole, max_rows, max_tokens)
        if found is None and max_rows and row_under(store, whole) >= 0 and whole < 0:
            # it is named again and again, and a row is sent once
            exact.resize(width)
            store.cache.write(whole, exact.data())
            whole = m.family.configs[config].whole = store.cache.intern_row(exact.data())
            found = named(m, whole, max_rows, max_tokens)
        if found is not None:
            return found
        exact.resize(width)
        m.fill_row(config, False, exact.data())
        return MaskRows(store, store.epoch, (), (), copied(exact))
    # the largest of the rows that the fill has just put together
    for i in range(store.assembler.parts_found.size()):
        if store.assembler.parts_found[i].pending >= 0 or store.assembler.parts_found[i].filter != NO_FILTER:
            continue
        row = store.arena.masks[store.assembler.parts_found[i].mask].dense
        is_new = row >= 0
        for j in range(candidates.size()):
            is_new = is_new and candidates[j] != row
        if is_new:
            candidates.push_back(row)
            best = 0
            for k in range(width):
                best += ones(store.arena.rows[row][k])
            sizes.push_back(best)
    joined.resize(width, 0)
    rows = []
    while <Py_ssize_t>len(rows) < max_rows and <size_t>len(rows) < candidates.size():
        best = 0
        for i in range(sizes.size()):
            if sizes[i] > sizes[best]:
                best = <int32_t>i
        row = candidates[best]
        sizes[best] = -1
        rows.append(row)
        for k in range(width):
            joined[k] |= store.arena.rows[row][k]
    for k in range(width):
        left = joined[k] ^ exact[k]
        while left:
            if <Py_ssize_t>len(tokens) == max_tokens:
                return MaskRows(store, store.epoch, (), (), copied(exact))
            tokens.append(32 * k + lowest_bit(left))
            left &= left - 1
    return MaskRows(store, store.epoch, tuple(rows), tuple(tokens))


cdef bytes copied(vector[uint32_t]& words):
    return (<const char*>words.data())[:4 * words.size()]


def copy_row(Matcher matcher not None, epoch, row, target):
    """Copy a row of the matcher's store to the address ``target``; False if its epoch is over."""
    cdef MaskStore store = matcher.masks
    cdef uintptr_t address = target
    cdef int32_t number = row
    cdef bint done = False, found
    matcher.lock.take()
    try:
        found = epoch == store.epoch
        if found:
            memcpy(<void*>address, store.arena.rows[number], 4 * <size_t>store.width)
        done = True
    finally:
        matcher.lock.give(done)
    return found


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
    cdef MaskStore store
    cdef vector[int32_t] flips
    cdef Py_ssize_t i, k, width = entries.shape[1]
    cdef int32_t slot, whole, row
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
        store = matcher.masks
        found = None
        done = False
        matcher.lock.take()
        try:
            whole = NO_MASK
            if not matcher.terminated:
                whole = store.finished(matcher.family, matcher.history.back())
            if whole != NO_MASK:
                row = row_under(store, whole)
                if row >= 0 and find_flips(matcher, whole, width - max_rows, flips):
                    found = slots.get((<uintptr_t><void*>store, store.epoch, row))
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
