# distutils: language = c++
"""The memory for masks of local states: rows, sparse tokens, groups of suffixes, and masks composed of these.

A mask contains tokens that are allowed with any stack (as a row or a list, whichever is smaller), and tokens
that depend on the stack: see ``Mask``. Equal groups of suffixes have one id; otherwise every path through an
ambiguous stack would have separate masks. Masks refer to each other by number, so all masks are dropped
together when they exceed their budget.
"""

cimport cython
from libc.string cimport memcmp, memset

from stackmask.pda.ids cimport FAILED, ID_FAILED, NO_ENTRY, NO_RUN, NO_SUMMARY, NodeId, SummaryId
from stackmask.pda.masks.layers cimport layers_now
from stackmask.pda.memory.bitmask_ops cimport copy_words, hash_words
from stackmask.pda.memory.byte_sets cimport has_bit, share_byte
from stackmask.pda.memory.growing_array cimport give_back, zeroed
from stackmask.pda.memory.hash_tables cimport Probe, mix
from stackmask.pda.memory.work_meter cimport Pause
from stackmask.pda.vocabulary.suffix_tries cimport INCLUSIVE, Nodes, is_deep, is_inclusive, node_at, place_at, trie_of
from stackmask.pda.vocabulary.token_trie cimport SubtreeSummary


# ------------------------------------------------------------------------------------------------
# The interface of a part of the mask engine, and the context that all parts share.
#
# A part has one job, such as run tables or the walk of the trie, and owns the memory of that job.
# ``MaskEngine`` owns the parts and hands each one the parts that it uses. It drops them all together, since
# masks refer to each other by number, and it adds up their bytes.
# ------------------------------------------------------------------------------------------------


cdef enum:
    CLASS_BYTES = 200       # of a class of special tokens, in Python and here
    ID_BYTES = 12           # of each of its ids
    NUMBER_BYTES = 28       # of an id as a number of Python; wide sets share theirs
    OWN_NUMBERS = 1000      # of a set, at most: see `FEW_IDS` of ``pda.store``


@cython.final
cdef class MaskContext:
    """The inputs of masks: terms, configurations and the vocabulary. Each engine has one context."""

    def __cinit__(
        self,
        TermStore terms not None,
        Semantics semantics not None,
        ConfigSpace space not None,
        Trie trie not None,
        int32_t vocab_size,
        uint64_t max_bytes,
    ):
        self.terms = terms
        self.semantics = semantics
        self.trie = trie
        self.width = (vocab_size + 31) // 32
        self.max_bytes = max_bytes
        self.layers = layers_now()
        self.class_bytes = 0
        self.key_text = semantics.key_text
        self.space = space
        self.tries = SuffixTries(trie)
        self.runs = Runs(terms, self.tries)

    def add_token_class(self, tokens):
        """Add the token ids of the next class of special tokens. Raises: BudgetError, without a change."""
        cdef vector[TokenId] ids
        for token in tokens:
            ids.push_back(token)
        cdef size_t held = CLASS_BYTES + ID_BYTES * ids.size()
        held += NUMBER_BYTES * min(ids.size(), <size_t>OWN_NUMBERS)
        self.terms.meter.hold(held)
        self.class_bytes += held
        self.class_tokens.push_back(ids)

    cdef int renew(self) except FAILED nogil:
        """Start again without configurations, suffix tries and run tables, which are rebuilt on demand."""
        with gil:
            self.space = self.new_space(True, self.space)
            self.tries = SuffixTries(self.trie)
            self.runs = Runs(self.terms, self.tries)
        return 0

    cdef ConfigSpace new_space(self, bint is_walk, ConfigSpace other):
        """Return an empty space with the limits of another one. It is dropped, so no request is charged for it."""
        cdef Pause pause
        cdef ConfigSpace space
        # its first frame counts as work, and a check of work may let go of the interpreter's lock
        self.terms.meter.pause(&pause)
        try:
            space = ConfigSpace(
                self.terms, self.semantics, is_walk, other.max_configurations, other.max_members
            )
        finally:
            self.terms.meter.resume(&pause)
        space.graph.is_charged = space.table.is_charged = False
        return space


cdef class MaskPart:
    """One part of the mask engine. Subclasses are final, and hold only the data that their task needs."""

    def __cinit__(self, MaskContext context not None, *_):
        self.context = context
        self.terms = context.terms
        self.space = context.space
        self.runs = context.runs

    cdef int drop(self) except FAILED nogil:
        """Drop all masks. The context has already been renewed, so the part takes its new objects."""
        with gil:
            self.space = self.context.space
            self.runs = self.context.runs
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the number of bytes in the part that a drop frees."""
        return 0


cdef int drop_from(MaskPart part) except FAILED nogil:
    """Drop a part of an engine and all later parts: an engine has a dozen parts."""
    part.drop()
    if part.next_part is not None:
        drop_from(part.next_part)
    return 0


cdef size_t nbytes_from(MaskPart part) noexcept nogil:
    """Return the number of bytes in a part of an engine and in all later parts."""
    cdef size_t held = part.nbytes()
    if part.next_part is not None:
        held += nbytes_from(part.next_part)
    return held


cdef inline bint has_none(const SubtreeSummary* summary, const uint64_t* bytes) noexcept nogil:
    # Return whether no character in a subtree begins with one of some bytes.
    return not (summary.ascii[0] & bytes[0] or summary.ascii[1] & bytes[1] or summary.leads & bytes[3])


cdef inline bint has_others(const SubtreeSummary* summary, const uint64_t* bytes) noexcept nogil:
    # Return whether some character in a subtree begins with none of some bytes.
    return summary.ascii[0] & ~bytes[0] or summary.ascii[1] & ~bytes[1] or summary.leads & ~bytes[3]


cdef enum:
    FEW_PLACES = 64     # a group of more places is not tried place by place
    FIRST_ROWS = 8      # rows of the first block; each block doubles the rows, up to
    BLOCK_BYTES = 1 << 21       # ... this size
    SHARE = 16          # a block takes at most this fraction of the budget
    BETWEEN = 64        # bytes between rows at least: multiples of 4 KB would share lines of the cache


@cython.final
cdef class MaskArena:
    """The rows, masks and groups of one store. ``MaskEngine`` owns the arena, and all parts append to it."""

    def __cinit__(self, MaskContext context not None):
        self.context = context
        self.width = context.width
        self.tries = context.tries
        self.drops = 0
        self.masks.push_back(nothing())

    def __dealloc__(self):
        self.free_rows()

    cdef int free_rows(self) noexcept nogil:
        """Free the memory of all rows."""
        cdef size_t i
        for i in range(self.blocks.size()):
            give_back(self.blocks[i].first, self.blocks[i].second)
        self.blocks.clear()
        self.rows.clear()
        self.fresh = NULL
        self.fresh_rows = 0
        self.block_bytes = 0
        return 0

    cdef int drop(self) except FAILED nogil:
        """Drop all masks."""
        self.free_rows()
        self.masks.clear()
        self.sparse_tokens.clear()
        self.pendings.clear()
        self.includes.clear()
        self.groups.clear()
        self.mask_groups.clear()
        self.places.clear()
        self.readers.clear()
        self.key_starts.clear()
        self.group_first.clear()
        self.unders.clear()
        self.byte_first.clear()
        self.byte_places.clear()
        self.group_index.reset()
        self.row_index.reset()
        with gil:
            self.tries = self.context.tries
        self.masks.push_back(nothing())
        self.drops += 1
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held by rows, masks and groups."""
        # rows that are not taken yet count too: a block of large pages takes its memory at once
        cdef size_t held = self.block_bytes + 8 * self.rows.size() + sizeof(Mask) * self.masks.size()
        held += 4 * (self.sparse_tokens.size() + self.places.size())
        held += 4 * (self.byte_first.size() + self.byte_places.size())
        held += 4 * (self.readers.size() + 2 * self.mask_groups.size() + self.key_starts.size())
        held += sizeof(Include) * self.includes.size() + sizeof(Group) * self.groups.size()
        held += sizeof(Pending) * self.pendings.size() + 8 * self.group_first.size()
        held += sizeof(Under) * self.unders.size()
        return held + self.group_index.nbytes() + self.row_index.nbytes()

    cdef size_t row_bytes(self) noexcept nogil:
        """Return the distance in bytes from one row to the next."""
        return (4 * <size_t>self.width + 2 * BETWEEN - 1) // BETWEEN * BETWEEN

    cdef RowId new_row(self) except ID_FAILED nogil:
        """Create a row of zeros. Rows never move, so growing never copies them.

        Rows are in blocks of fresh, zeroed memory.
        """
        cdef size_t bytes = self.row_bytes()
        cdef uint32_t* row
        cdef pair[voidp, size_t] block
        self.context.terms.meter.spend(self.width // 4)
        if not self.fresh_rows:
            self.fresh_rows = max(<size_t>FIRST_ROWS, self.rows.size())
            block.second = bytes * self.fresh_rows
            if block.second > BLOCK_BYTES:
                self.fresh_rows = max(<size_t>1, BLOCK_BYTES // bytes)
                block.second = max(<size_t>BLOCK_BYTES, bytes)
            if block.second > self.context.max_bytes // SHARE:
                # a block must not take much of a small budget
                self.fresh_rows = max(<size_t>1, self.context.max_bytes // SHARE // bytes)
                block.second = bytes * self.fresh_rows
            self.blocks.push_back(block)
            block.first = zeroed(block.second)
            if block.first == NULL:
                self.blocks.pop_back()
                self.fresh_rows = 0
                raise MemoryError()
            self.blocks[self.blocks.size() - 1] = block
            self.block_bytes += block.second
            self.fresh = <char*>block.first
        row = <uint32_t*>self.fresh
        self.rows.push_back(row)
        self.fresh += bytes
        self.fresh_rows -= 1
        return <int32_t>self.rows.size() - 1

    cdef int give_back_row(self, RowId row) noexcept nogil:
        """Free an unused row, if it was created last."""
        if row == NO_ROW or row != <int32_t>self.rows.size() - 1:
            return 0
        if <char*>self.rows[row] + self.row_bytes() == self.fresh:  # else it is the last one of the block before
            memset(self.rows[row], 0, 4 * <size_t>self.width)
            self.fresh = <char*>self.rows[row]
            self.fresh_rows += 1
            self.rows.pop_back()
        return 0

    cdef RowId row_of(self, vector[TokenId]& tokens) except ID_FAILED nogil:
        """Create a row with these tokens, clear the list of tokens, and return the number of the row."""
        cdef size_t k
        cdef RowId row = self.new_row()
        cdef uint32_t* bits = self.rows[row]
        for k in range(tokens.size()):
            bits[tokens[k] >> 5] |= <uint32_t>1 << (tokens[k] & 31)
        tokens.clear()
        return row

    cdef RowId intern_row(self, const uint32_t* words) except ID_FAILED nogil:
        """Return the number of the row with these words, which must not change any more."""
        cdef size_t size = 4 * <size_t>self.width
        cdef Probe probe = self.row_index.probe(hash_words(words, self.width))
        cdef RowId row = self.row_index.next(probe)
        while row >= 0:
            if not memcmp(self.rows[row], words, size):
                return row
            row = self.row_index.next(probe)
        row = self.new_row()
        copy_words(self.rows[row], words, self.width)
        self.row_index.put(probe, row)
        return row

    cdef int keep_tokens(self, vector[TokenId]& tokens, RowId dense, Mask* mask) except FAILED nogil:
        """Set the tokens that a mask allows with any stack. ``dense``: a row of further tokens, or NO_ROW."""
        cdef size_t k
        cdef uint32_t* bits
        if dense == NO_ROW and tokens.size() > <size_t>(self.width // SPARSE):
            dense = self.row_of(tokens)
        mask.dense = dense
        if dense != NO_ROW:
            bits = self.rows[dense]
            for k in range(tokens.size()):
                bits[tokens[k] >> 5] |= <uint32_t>1 << (tokens[k] & 31)
            return 0
        mask.sparse_first = <int32_t>self.sparse_tokens.size()
        mask.sparse_count = <int32_t>tokens.size()
        self.sparse_tokens.append(tokens.begin(), tokens.end())
        return 0

    cdef int keep_pending(self, vector[TokenId]& tokens, uint64_t ends) except FAILED nogil:
        """Store tokens that are allowed if the frame is alive under one of some guards."""
        cdef Pending pending
        cdef size_t k
        pending.ends = ends
        pending.dense = NO_ROW
        pending.first = <int32_t>self.sparse_tokens.size()
        pending.count = <int32_t>tokens.size()
        if tokens.size() > <size_t>self.width:  # a row takes less memory
            self.words.assign(self.width, 0)
            for k in range(tokens.size()):
                self.words[tokens[k] >> 5] |= <uint32_t>1 << (tokens[k] & 31)
            pending.dense = self.intern_row(self.words.data())
        else:
            self.sparse_tokens.append(tokens.begin(), tokens.end())
        self.pendings.push_back(pending)
        return 0

    cdef MaskId add(self, const Mask& mask) except ID_FAILED nogil:
        """Return the number of a new mask."""
        self.masks.push_back(mask)
        return <int32_t>self.masks.size() - 1

    cdef SuffixesId intern_group(
        self, GuardId guard, SemId sem, RunId run, vector[PlaceId]& places
    ) except ID_FAILED nogil:
        """Return the number of a group. This sorts ``places``."""
        cdef Group group
        cdef size_t k
        cdef SuffixesId id
        cdef bint deep = False
        cdef Under under
        cdef const SubtreeSummary* at
        cdef uint64_t h = mix(mix(mix(47, <uint32_t>guard), <uint32_t>sem), <uint32_t>run)
        self.context.terms.meter.spend(4 + 4 * places.size())
        if places.size() > 1:
            # one subtree may be inside of another, and both return at one node
            sort_unique(places)
        memset(&under, 0, sizeof(Under))
        for k in range(places.size()):
            h = mix(h, <uint32_t>places[k])
            if is_deep(places[k]):
                deep = True
                at = &self.context.trie.summaries[self.context.trie.summary_of[node_at(places[k])]]
                under.first[0] |= at.ascii[0]
                under.first[1] |= at.ascii[1]
                under.first[3] |= at.leads
        cdef Probe probe = self.group_index.probe(h)
        id = self.group_index.next(probe)
        while id >= 0:
            group = self.groups[id]
            if (
                group.guard == guard
                and group.sem == sem
                and group.run == run
                and group.place_count == <int32_t>places.size()
            ):
                k = 0
                while k < places.size() and self.places[group.place_first + k] == places[k]:
                    k += 1
                if k == places.size():
                    return id
            id = self.group_index.next(probe)
        group.guard = guard
        group.sem = sem
        group.run = run
        group.place_first = <int32_t>self.places.size()
        group.place_count = <int32_t>places.size()
        group.entry = NO_ENTRY
        group.by_byte = NOT_INDEXED
        group.under = NOT_DEEP
        if deep:
            group.under = <int32_t>self.unders.size()
            self.unders.push_back(under)
        self.places.append(places.begin(), places.end())
        id = <int32_t>self.groups.size()
        self.groups.push_back(group)
        self.group_index.put(probe, id)
        return id

    cdef SuffixesId regrouped(self, SuffixesId group, GuardId guard, SemId sem) except ID_FAILED nogil:
        """Return the group of the same suffixes under another guard and semantic state."""
        cdef vector[PlaceId] places
        cdef PlaceId* first = self.places.data() + self.groups[group].place_first
        if self.groups[group].guard == guard and self.groups[group].sem == sem:
            return group
        places.assign(first, first + self.groups[group].place_count)
        return self.intern_group(guard, sem, self.groups[group].run, places)

    cdef const uint64_t* first_of_group(self, SuffixesId group) except NULL nogil:
        """Return the bytes that the suffixes of a group can begin with, as 4 words."""
        cdef Group g
        cdef Nodes n
        cdef int32_t i, k
        cdef NodeId node
        cdef uint64_t* words
        if <size_t>(4 * group) >= self.group_first.size():
            self.group_first.resize(4 * self.groups.size(), 0)
        words = &self.group_first[4 * group]
        if not (words[0] | words[1] | words[2] | words[3]):
            g = self.groups[group]
            self.context.terms.meter.spend(g.place_count)
            if g.run != NO_RUN:
                words[0] = words[1] = words[2] = words[3] = ~<uint64_t>0
            for i in range(g.place_first, g.place_first + g.place_count):
                n = self.tries.nodes(self.places[i])
                node = node_at(self.places[i])
                if is_inclusive(self.places[i]):
                    words[n.byte[node] >> 6] |= <uint64_t>1 << (n.byte[node] & 63)
                    continue
                for k in range(n.kid_first[node], n.kid_first[node + 1]):
                    words[n.kid_byte[k] >> 6] |= <uint64_t>1 << (n.kid_byte[k] & 63)
            for k in range(0 if g.under == NOT_DEEP else 4):
                words[k] |= self.unders[g.under].first[k]
            if words[0] | words[1] | words[2] | words[3]:
                self.context.terms.meter.has_moved = True
        return words

    cdef int append_places(self, SuffixesId group, vector[PlaceId]& out) except FAILED nogil:
        """Append the places of a group; for deep ones, also those under them."""
        cdef uint64_t all_bytes[4]
        cdef PlaceId* first = self.places.data() + self.groups[group].place_first
        if self.groups[group].under == NOT_DEEP:
            out.insert(out.end(), first, first + self.groups[group].place_count)
        else:
            memset(all_bytes, 0xFF, sizeof(all_bytes))
            self.append_starting(group, all_bytes, NULL, out)
        return 0

    cdef bint is_indexed(self, SuffixesId group) noexcept nogil:
        """Return whether the places of a group are found by the first byte of their suffixes."""
        return self.groups[group].place_count > FEW_PLACES or self.groups[group].under != NOT_DEEP

    cdef const int32_t* places_by_byte(self, SuffixesId group) except NULL nogil:
        """Return the starts of a group's places by the first byte of their suffixes, in `byte_places`.

        The places of byte ``b`` are from entry ``b`` to before entry ``b + 1``, all inclusive. Deep places are
        excluded. Cost: at first, a pass over the children of all places.
        """
        cdef Group g = self.groups[group]
        cdef Nodes n
        cdef NodeId node
        cdef int32_t i, k, b
        cdef int32_t* first
        cdef vector[int32_t] next
        if g.by_byte == NOT_INDEXED:
            self.context.terms.meter.spend(4 * g.place_count)
            g.by_byte = <int32_t>self.byte_first.size()
            self.byte_first.resize(self.byte_first.size() + 257, 0)
            self.groups[group].by_byte = g.by_byte
            first = self.byte_first.data() + g.by_byte
            for i in range(g.place_first, g.place_first + g.place_count):
                if is_deep(self.places[i]):
                    continue
                n = self.tries.nodes(self.places[i])
                node = node_at(self.places[i])
                if is_inclusive(self.places[i]):
                    first[n.byte[node] + 1] += 1
                    continue
                for k in range(n.kid_first[node], n.kid_first[node + 1]):
                    first[n.kid_byte[k] + 1] += 1
            first[0] = <int32_t>self.byte_places.size()
            for b in range(256):
                first[b + 1] += first[b]
            next.assign(first, first + 256)
            self.byte_places.resize(first[256])
            for i in range(g.place_first, g.place_first + g.place_count):
                if is_deep(self.places[i]):
                    continue
                n = self.tries.nodes(self.places[i])
                node = node_at(self.places[i])
                if is_inclusive(self.places[i]):
                    self.byte_places[next[n.byte[node]]] = self.places[i]
                    next[n.byte[node]] += 1
                    continue
                for k in range(n.kid_first[node], n.kid_first[node + 1]):
                    self.byte_places[next[n.kid_byte[k]]] = place_at(
                        n.kid_node[k], trie_of(self.places[i]) | INCLUSIVE
                    )
                    next[n.kid_byte[k]] += 1
            self.context.terms.meter.has_moved = True
        return self.byte_first.data() + g.by_byte

    cdef int first_bytes(self, SuffixesId group, uint64_t* words) except FAILED nogil:
        """Find the bytes that the suffixes at the places of an indexed group begin with, and perhaps others."""
        cdef const int32_t* first = self.places_by_byte(group)
        cdef int32_t b, under = self.groups[group].under
        words[0] = words[1] = words[2] = words[3] = 0
        for b in range(256):
            if first[b] < first[b + 1]:
                words[b >> 6] |= <uint64_t>1 << (b & 63)
        if under != NOT_DEEP:
            for b in range(4):
                words[b] |= self.unders[under].first[b]
        return 0

    cdef int append_starting(
        self, SuffixesId group, const uint64_t* first, const Loop* loop, vector[PlaceId]& out
    ) except FAILED nogil:
        """Append the places of an indexed group whose suffixes begin with some bytes, and perhaps others.

        ``loop``: as in `append_under`.
        """
        cdef const int32_t* index = self.places_by_byte(group)
        cdef Group g = self.groups[group]
        cdef int32_t i, b, alive = 0
        cdef NodeId done = 0
        if g.under == NOT_DEEP:
            for b in range(256):
                if has_bit(first, b):
                    alive += index[b + 1] - index[b]
            if 2 * alive > g.place_count:
                return self.append_places(group, out)
        for b in range(256):
            if has_bit(first, b):
                out.insert(out.end(), self.byte_places.begin() + index[b], self.byte_places.begin() + index[b + 1])
        if g.under != NOT_DEEP and share_byte(first, self.unders[g.under].first):
            self.context.terms.meter.spend(g.place_count)
            for i in range(g.place_first, g.place_first + g.place_count):
                # what is under a place under it, is under it too
                if is_deep(self.places[i]) and node_at(self.places[i]) >= done:
                    done = self.context.trie.end[node_at(self.places[i])]
                    self.append_under(self.places[i], first, loop, out)
        return 0

    cdef int append_under(
        self, PlaceId place, const uint64_t* first, const Loop* loop, vector[PlaceId]& out
    ) except FAILED nogil:
        """Append the nodes under a deep place that begin a character with one of some bytes, as inclusive places.

        ``loop``: after one of its ``bytes`` a walk is in a configuration to which each of its ``keeps`` leads
        back, so it meets such nodes under an appended one by itself; or NULL.
        """
        cdef const NodeId* end = self.context.trie.end
        cdef const uint8_t* byte = self.context.trie.byte
        cdef const SummaryId* summary_of = self.context.trie.summary_of.data()
        cdef NodeId i = node_at(place), stop = end[i], covered = 0
        cdef uint64_t left[4]       # the bytes that are wanted after a loop
        cdef const uint64_t* wanted = first
        cdef const SubtreeSummary* all_under = &self.context.trie.summaries[summary_of[i]]
        cdef int32_t k, turns = 0
        cdef size_t before = out.size()
        if has_none(all_under, first):
            return 0
        if loop != NULL and has_others(all_under, loop.keeps):
            loop = NULL
        for k in range(4):
            left[k] = first[k] & ~loop.bytes[k] if loop != NULL else first[k]
        i += 1
        while i < stop:
            turns += 1
            wanted = first
            if i < covered:
                wanted = left
            if not 0x80 <= byte[i] < 0xC0 and has_bit(wanted, byte[i]):
                out.push_back(place_at(i, INCLUSIVE))
                if not has_bit(left, byte[i]):
                    covered = end[i]
                    wanted = left
            if summary_of[i] != NO_SUMMARY and has_none(&self.context.trie.summaries[summary_of[i]], wanted):
                i = end[i]
            else:
                i += 1
        self.context.terms.meter.spend(4 + (turns >> 3) + out.size() - before)
        return 0

    cdef bint is_few(self, SuffixesId group) noexcept nogil:
        """Return whether a group consists of only a few places of the vocabulary."""
        cdef Group g = self.groups[group]
        cdef int32_t i
        if g.run != NO_RUN or g.place_count > FEW_PLACES or g.under != NOT_DEEP:
            return False
        for i in range(g.place_first, g.place_first + g.place_count):
            if trie_of(self.places[i]):
                return False
        return True
