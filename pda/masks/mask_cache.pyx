# distutils: language = c++
"""Compute the union of a mask's operands, and cache finished masks by the list of their operands.

Lists of operands are interned. A configuration caches its list at its first fill, so its operands are found
once. Half of all configurations share their list with another one. The mask of a list is cached once the
unions have cost about as much as caching costs: most lists are filled only twice.

Most masks equal some row except for a few tokens, such as the run of a string with the tokens after its
quote. So a finished mask is a row, or a *patched* mask, which is a row or nothing, with the words in which it
differs. There are then few rows, which fit in the processor's cache, and copies from there are much cheaper
than from memory. A patched mask takes hundreds of bytes, not a row of fresh memory. Both are interned.
"""

cimport cython
from libc.string cimport memcmp

from stackmask.pda.ids cimport FAILED, ID_FAILED, NO_PENDING, TokenId
from stackmask.pda.masks.arena cimport (
    MASK_NONE,
    MASK_OPERANDS,
    MASK_PATCHED,
    MASK_ROW,
    NO_FILTER,
    Mask,
    MaskBits,
    MaskContext,
    MaskPart,
    MaskRef,
    mask_ref,
    write_bits,
)
from stackmask.pda.masks.runs cimport Filter
from stackmask.pda.memory.bitmask_ops cimport BLOCK, copy_words, differences, hash_words, or_words
from stackmask.pda.memory.hash_tables cimport NO_VALUE, Probe, mix


# ------------------------------------------------------------------------------------------------
# The masks to visit, each once, and the operands that visits find.
#
# Ambiguous stacks reach the same mask over the same frame along several paths; one visit is enough.
# ------------------------------------------------------------------------------------------------


cdef enum:
    FEW_VISITS = 32      # up to here a list is searched, not hashed
    FEW_OPERANDS = 32    # so many of the last operands are searched for an equal one


cdef bint same_visit(const Visit& v, const Visit& w) noexcept nogil:
    return (
        v.mask == w.mask
        and v.frame == w.frame
        and v.continuation == w.continuation
        and v.action == w.action
        and v.filter == w.filter
        and v.keys == w.keys
        and v.unsure == w.unsure
    )


cdef uint64_t visit_hash(const Visit& v) noexcept nogil:
    cdef uint64_t h = mix(mix(mix(59, <uint32_t>v.mask), <uint32_t>v.frame), <uint32_t>v.continuation)
    h = mix(h, v.action.code())
    return mix(mix(h, <uint32_t>v.filter), (<uint64_t>v.keys << 1) | <uint64_t>v.unsure)


@cython.final
cdef class Worklist:
    """A list of distinct visits, in the order in which they were added."""

    def __cinit__(self):
        self.indexed = False

    cdef int clear(self) noexcept nogil:
        """Remove all visits."""
        self.visits.clear()
        self.calls.clear()
        self.callers.clear()
        self.indexed = False
        return 0

    cdef int drop(self) except FAILED nogil:
        """Remove all visits, and free the memory."""
        vector[Visit]().swap(self.visits)
        vector[PendingCall]().swap(self.calls)
        vector[vector[Edge]]().swap(self.callers)
        self.indexed = False
        self.index.reset()
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held."""
        cdef size_t held = sizeof(Visit) * self.visits.size() + self.index.nbytes()
        cdef size_t n
        for n in range(self.callers.size()):
            held += sizeof(Edge) * self.callers[n].capacity()
        return held + sizeof(PendingCall) * self.calls.capacity()

    cdef int add(self, const Visit& v) except FAILED nogil:
        """Add a visit unless it is in the list. Cost: a look-up, or one pass over a short list."""
        if not self.is_known(v):
            self.visits.push_back(v)
        return 0

    cdef bint is_known(self, const Visit& v) except FAILED nogil:
        """Return whether a visit is in the list.

        In a long list, a new visit is entered into the index here: the caller adds it to the list.
        """
        cdef size_t i, n = self.visits.size()
        cdef uint64_t h
        cdef int32_t at
        if n < FEW_VISITS:
            for i in range(n):
                if same_visit(v, self.visits[i]):
                    return True
            return False
        if not self.indexed:
            # the index still holds an earlier list
            self.indexed = True
            self.index.clear()
            for i in range(n):
                h = visit_hash(self.visits[i])
                while self.index.get(h) != NO_VALUE:
                    h += 1
                self.index.put(h, <int32_t>i)
        h = visit_hash(v)
        while True:
            at = self.index.get(h)
            if at == NO_VALUE:
                break
            if same_visit(v, self.visits[at]):
                return True
            h += 1
        self.index.put(h, <int32_t>n)
        return False


@cython.final
cdef class Operands:
    """The operands of one fill: operands with allowed tokens, and operands whose tokens are only tried."""

    cdef int clear(self) noexcept nogil:
        """Remove all operands."""
        self.sure.clear()
        self.unsure.clear()
        return 0

    cdef int add(self, MaskId mask, FilterId filter, bint unsure) except FAILED nogil:
        """Add the tokens that a mask allows with any stack, unless a recent operand is equal."""
        cdef vector[Operand]* operands = &self.unsure if unsure else &self.sure
        cdef Operand operand
        cdef size_t i, n = operands.size()
        operand.mask = mask
        operand.pending = NO_PENDING
        operand.filter = filter
        for i in range(n - min(n, <size_t>FEW_OPERANDS), n):
            if same_operand(&operands[0][i], &operand):
                return 0
        operands.push_back(operand)
        return 0


cdef enum:
    MANY_TOKENS = 256    # so many sparse tokens cost about as much as a row
    BULKY = 128          # a sparse mask with so many tokens may get a row of its own,
    WORTH_A_ROW = 1 << 14       # ... once so many of its tokens were written one by one
    WORTH_A_MASK = 4    # cost of a list, in rows, before its mask is remembered: 2 and its rows each time
    MOST = 1 << 30       # more tokens than any sparse mask has
    FEW_CHANGES = 32     # most words patched into a row: more cost as much as another row in cache
    SAMPLES = 8          # of the words of a row, by which similar rows are found,
    SAMPLED = 128        # ... each with one of so many words
    FEW_WORDS = 256      # most words patched into nothing, which is written twice as fast as a row


@cython.final
cdef class MaskCache(MaskPart):
    """The finished masks of one store, and the lists of operands that these masks unite."""

    def __cinit__(
        self,
        MaskContext context not None,
        MaskArena arena not None,
        Slices slices not None,
    ):
        self.width = context.width
        self.layers = context.layers
        self.arena = arena
        self.slices = slices
        self.joins = 0

    cdef int drop(self) except FAILED nogil:
        """Drop all finished masks, since the rows are dropped."""
        self.lists.clear()
        self.list_operands.clear()
        self.patches.clear()
        self.patched.clear()
        self.list_index.reset()
        self.patched_index.reset()
        self.sampled.reset()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = sizeof(Operand) * self.list_operands.size()
        held += sizeof(OperandList) * self.lists.size()
        held += sizeof(Patch) * self.patches.size() + sizeof(Patched) * self.patched.size()
        held += self.list_index.nbytes()
        held += self.patched_index.nbytes()
        held += self.sampled.nbytes()
        return held

    cdef int apply(self, const Operand& operand, uint32_t* words) noexcept nogil:
        """Add the tokens of one operand to the words."""
        cdef Filter passing
        cdef int32_t i
        cdef TokenId n
        if operand.filter == NO_FILTER:
            return self.apply_row(operand, NO_ROW, words)
        passing = self.slices.filters[operand.filter]
        for i in range(passing.count):
            n = self.slices.excluded_tokens[passing.first + i]
            self.slices.spared[i] = (words[n >> 5] >> (n & 31)) & 1
        self.apply_row(operand, passing.row, words)
        for i in range(passing.count):
            n = self.slices.excluded_tokens[passing.first + i]
            if not self.slices.spared[i]:
                words[n >> 5] &= ~(<uint32_t>1 << (n & 31))
        return 0

    cdef int apply_row(self, const Operand& operand, RowId row, uint32_t* words) noexcept nogil:
        """Add the tokens of an operand that are in a row to the words; if it is NO_ROW, add all tokens."""
        cdef TokenId n
        cdef int32_t first, count
        cdef const TokenId* token
        cdef const TokenId* stop
        cdef const Mask* mask
        cdef const uint32_t* filter = NULL
        if row != NO_ROW:
            filter = self.arena.rows[row]
        if operand.pending != NO_PENDING:
            first = self.arena.pendings[operand.pending].first
            count = self.arena.pendings[operand.pending].count
            if self.arena.pendings[operand.pending].dense != NO_ROW:
                or_words(words, self.arena.rows[self.arena.pendings[operand.pending].dense], filter, self.width)
                return 0
        else:
            mask = &self.arena.masks[operand.mask]
            first = mask.sparse_first
            count = mask.sparse_count
            if mask.dense != NO_ROW:
                or_words(words, self.arena.rows[mask.dense], filter, self.width)
                return 0
            if count >= MANY_TOKENS and mask.sparse_row != NO_ROW:
                or_words(words, self.arena.rows[mask.sparse_row], filter, self.width)
                return 0
        token = self.arena.sparse_tokens.data() + first
        stop = token + count
        if filter == NULL:
            while token < stop:
                words[token[0] >> 5] |= <uint32_t>1 << (token[0] & 31)
                token += 1
        while token < stop:
            n = token[0]
            token += 1
            words[n >> 5] |= filter[n >> 5] & <uint32_t>1 << (n & 31)
        return 0

    cdef RowId row_for(self, MaskId mask) except? ID_FAILED nogil:
        """Return a row with the tokens of a sparse mask, or NO_ROW while a row does not pay off.

        A few masks are in most lists, such as the mask of the text after the quote of a name.
        """
        cdef Mask* at = &self.arena.masks[mask]
        cdef RowId row = at.sparse_row
        cdef Operand operand
        if row != NO_ROW or not self.layers.patched:
            return row
        at.entered += at.sparse_count
        if at.entered < WORTH_A_ROW:
            return NO_ROW
        operand.mask = mask
        operand.pending = NO_PENDING
        operand.filter = NO_FILTER
        row = self.arena.new_row()
        self.apply(operand, self.arena.rows[row])
        self.arena.masks[mask].sparse_row = row
        return row

    cdef int join(
        self, vector[Operand]& operands, uint32_t* words, MaskRef* made, RowId* likely_base
    ) except FAILED nogil:
        """Write the union of some operands. ``made``: receives the reference to be cached."""
        cdef size_t i
        if self.layers.operand_lists:
            return self.join_list(self.list_of(operands), operands, words, made, likely_base)
        copy_words(words, NULL, self.width)
        for i in range(operands.size()):
            self.apply(operands[i], words)
        return self.keep(words, NO_ROW, made)

    cdef OperandsId list_of(self, vector[Operand]& operands) except ID_FAILED nogil:
        """Return the number of a list of operands; equal lists have one number."""
        cdef size_t i, n = operands.size()
        cdef OperandList entry
        cdef Probe probe
        cdef const OperandList* found
        cdef const Operand* operand
        cdef const Operand* other
        cdef OperandsId id
        cdef uint64_t h = 53
        for i in range(n):
            operand = &operands[i]
            h = mix(h, (<uint64_t><uint32_t>operand.mask << 32) | <uint64_t>operand.filter)
            h = mix(h, <uint32_t>operand.pending)
        probe = self.list_index.probe(h)
        id = self.list_index.next(probe)
        while id >= 0:
            found = &self.lists[id]
            if found.count == <int32_t>n:
                i = 0
                while i < n:
                    operand = &operands[i]
                    other = &self.list_operands[found.first + i]
                    if not same_operand(operand, other):
                        break
                    i += 1
                if i == n:
                    return id
            id = self.list_index.next(probe)
        entry.first = <int32_t>self.list_operands.size()
        entry.count = <int32_t>n
        entry.mask = mask_ref(MASK_NONE, 0)
        entry.spent = 0
        self.list_operands.append(operands.begin(), operands.end())
        id = <int32_t>self.lists.size()
        self.lists.push_back(entry)
        self.list_index.put(probe, id)
        return id

    cdef int operands_of(self, OperandsId number, vector[Operand]& operands) except FAILED nogil:
        """Copy the operands of a list into ``operands``."""
        cdef OperandList entry = self.lists[number]
        cdef Operand* first = self.list_operands.data() + entry.first
        operands.assign(first, first + entry.count)
        return 0

    cdef int join_list(
        self, OperandsId number, vector[Operand]& operands, uint32_t* words, MaskRef* made, RowId* likely_base
    ) except FAILED nogil:
        """Write the union of the operands of a list.

        ``made``: receives the mask if it is cached, else the list. ``likely_base``: receives a row that may
        be similar to the mask, or NO_ROW.
        """
        cdef size_t i, begun, n = operands.size()
        cdef int32_t rows = 2, light = 0, count
        cdef RowId base = NO_ROW, row
        cdef int32_t most = BULKY
        cdef MaskBits bits
        cdef Operand operand
        self.terms.meter.spend(self.width // 8 * (1 + n // 4))
        made[0] = self.lists[number].mask
        if made.kind != MASK_NONE:
            bits = self.bits(made[0])
            likely_base[0] = bits.row_number
            write_bits(&bits, self.width, words)
            return 0
        begun = n
        for i in range(n):
            operand = operands[i]
            if operand.pending != NO_PENDING:
                if self.arena.pendings[operand.pending].dense != NO_ROW:
                    rows += 1
                else:
                    light += self.arena.pendings[operand.pending].count
            elif self.arena.masks[operand.mask].dense != NO_ROW:
                rows += 1
                if most < MOST and operand.filter == NO_FILTER:
                    base = self.arena.masks[operand.mask].dense
                    begun = i
                    most = MOST
            else:
                count = self.arena.masks[operand.mask].sparse_count
                light += count
                if count >= most and operand.filter == NO_FILTER:
                    row = self.row_for(operand.mask)
                    if row != NO_ROW:
                        base = row
                        begun = i
                        most = count
        likely_base[0] = base
        copy_words(words, self.arena.rows[base] if base != NO_ROW else NULL, self.width)
        if n == 1 and base != NO_ROW:
            made[0] = self.lists[number].mask = mask_ref(MASK_ROW, base)
            return 0
        for i in range(n):
            if i != begun:  # mutant: join-all
                self.apply(operands[i], words)
        if self.lists[number].spent < WORTH_A_MASK:
            self.lists[number].spent += rows + light // MANY_TOKENS
            made[0] = mask_ref(MASK_OPERANDS, number)
            return 0
        self.keep(words, base, made)
        self.lists[number].mask = made[0]
        return 0

    # -- masks by content ------------------------------------------------------------------------------

    cdef bint find_changes(self, const uint32_t* words, RowId base) except FAILED nogil:
        """Find the words that differ from a row, or from zero. Return False if there are too many."""
        cdef int32_t where[FEW_WORDS + BLOCK]
        cdef size_t i, most = FEW_CHANGES if base != NO_ROW else FEW_WORDS
        cdef const uint32_t* row = self.arena.rows[base] if base != NO_ROW else NULL
        cdef size_t found = differences(words, row, self.width, where, most)
        if found > most or not self.layers.patched:
            return False
        self.changes.resize(found)
        for i in range(found):
            self.changes[i].word = where[i]
            self.changes[i].bits = words[where[i]]
        return True

    cdef int keep(self, const uint32_t* words, RowId base, MaskRef* made) except FAILED nogil:
        """Cache a mask. ``base``: a row that may be similar, or NO_ROW.

        Cost: one to four passes over the words; fresh memory for a row only if no row is similar.
        """
        self.joins += 1
        if self.find_changes(words, base):
            if self.changes.empty() and base != NO_ROW:
                made[0] = mask_ref(MASK_ROW, base)
            else:
                made[0] = mask_ref(MASK_PATCHED, self.intern_patched(base))
        elif base != NO_ROW and self.find_changes(words, NO_ROW):
            made[0] = mask_ref(MASK_PATCHED, self.intern_patched(NO_ROW))
        else:
            self.keep_row(words, made)
        return 0

    cdef int keep_row(self, const uint32_t* words, MaskRef* made) except FAILED nogil:
        """Cache a mask as a row, or as changes of a finished row that looks similar by samples of its words."""
        cdef uint64_t samples[SAMPLES]
        cdef RowId rows[SAMPLES]
        cdef RowId best = NO_ROW
        cdef int32_t i, k, votes = 0
        for i in range(SAMPLES):
            samples[i] = i
            k = i
            while k < self.width:
                samples[i] = mix(samples[i], words[k])
                k += SAMPLED
            rows[i] = self.sampled.get(samples[i])
            if rows[i] == NO_VALUE:
                votes -= votes > 0
            elif not votes or rows[i] == best:
                best = rows[i]
                votes += 1
            else:
                votes -= 1
        if best != NO_ROW and self.find_changes(words, best):
            made[0] = mask_ref(MASK_PATCHED, self.intern_patched(best))
            if self.changes.empty():
                made[0] = mask_ref(MASK_ROW, best)
            return 0
        best = self.arena.intern_row(words)
        made[0] = mask_ref(MASK_ROW, best)
        for i in range(SAMPLES):
            if rows[i] == NO_VALUE:
                self.sampled.put(samples[i], best)
        return 0

    cdef PatchedId intern_patched(self, RowId base) except ID_FAILED nogil:
        """Return the number of the patched mask that differs from a row, or from zero, by ``changes``."""
        cdef size_t n = self.changes.size()
        cdef PatchedId id
        cdef Patched entry
        cdef uint64_t h = mix(71, <uint32_t>base)
        if n:
            h = mix(h, hash_words(<const uint32_t*>&self.changes[0], 2 * n))
        cdef Probe probe = self.patched_index.probe(h)
        id = self.patched_index.next(probe)
        while id >= 0:
            entry = self.patched[id]
            if entry.base == base and entry.count == <int32_t>n and (
                not n or not memcmp(&self.patches[entry.first], &self.changes[0], n * sizeof(Patch))
            ):
                return id
            id = self.patched_index.next(probe)
        entry.base = base
        entry.first = <int32_t>self.patches.size()
        entry.count = <int32_t>n
        self.patches.append(self.changes.begin(), self.changes.end())
        id = <int32_t>self.patched.size()
        self.patched.push_back(entry)
        self.patched_index.put(probe, id)
        return id

    cdef int operand_rows(self, OperandsId number, vector[RowId]& out) except FAILED nogil:
        """List the rows among the operands of a list, each once, in order.

        This excludes operands without a row, and operands with a filter.
        """
        cdef Operand* operand
        cdef int32_t k
        cdef RowId row
        cdef size_t i
        cdef bint is_new
        out.clear()
        for k in range(self.lists[number].count):
            operand = &self.list_operands[self.lists[number].first + k]
            if operand.pending != NO_PENDING or operand.filter != NO_FILTER:
                continue
            row = self.arena.masks[operand.mask].dense
            is_new = row != NO_ROW
            for i in range(out.size()):
                is_new = is_new and out[i] != row
            if is_new:
                out.push_back(row)
        return 0
