# distutils: language = c++
"""Slices and filters: which tokens are runs of one character class, and which continue after such a run.

A *slice* is the mask of the tokens that are runs, all or only the short ones. A *filter* says which tokens
continue after a run of the right length. It is a row of tokens, or all tokens, without a short list.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

from stackmask.pda.ids cimport NO_ROW, UNBOUNDED, GroupId, NodeId
from stackmask.pda.masks.shared.part cimport MaskContext, MaskPart
from stackmask.pda.memory.hash_tables cimport (
    NO_VALUE,
    map_free,
    map_get,
    map_init,
    map_nbytes,
    map_put,
    map_reset,
)
from stackmask.pda.masks.shared.arena cimport NO_FILTER, NO_TOKENS, SPARSE, Mask, nothing
from stackmask.pda.vocabulary.suffix_tries cimport Nodes, node_at
from stackmask.pda.masks.shared.run_tables cimport Run, has_groups, is_sorted

cdef enum:
    FEW_OUTSIDE = 256       # tokens in the list of a filter; for more, a row is made
    COUNT_BITS = 20         # bits of a number of characters in keys


cdef void enter(uint32_t* row, const TokenId* tokens, const TokenId* stop) noexcept nogil:
    """Set the bits of tokens in a row."""
    while tokens < stop:
        row[tokens[0] >> 5] |= <uint32_t>1 << (tokens[0] & 31)
        tokens += 1


cdef void take_out(uint32_t* row, const TokenId* tokens, const TokenId* stop) noexcept nogil:
    """Clear the bits of tokens in a row."""
    while tokens < stop:
        row[tokens[0] >> 5] &= ~(<uint32_t>1 << (tokens[0] & 31))
        tokens += 1


@cython.final
cdef class Slices(MaskPart):
    """The slices and filters of one store."""

    def __cinit__(self, MaskContext context not None, MaskArena arena not None):
        self.width = context.width
        self.arena = arena
        self.groups = self.context.trie.character_groups
        map_init(&self.slice_index)
        map_init(&self.filter_index)
        map_init(&self.both_index)
        map_init(&self.row_index)
        self.add_all()

    def __dealloc__(self):
        map_free(&self.slice_index)
        map_free(&self.filter_index)
        map_free(&self.both_index)
        map_free(&self.row_index)

    cdef int drop(self) except -1 nogil:
        """Drop slices and filters."""
        self.tails.clear()
        self.tail_exits.clear()
        self.filters.clear()
        self.excluded_tokens.clear()
        map_reset(&self.slice_index)
        map_reset(&self.filter_index)
        map_reset(&self.both_index)
        map_reset(&self.row_index)
        self.add_all()
        return MaskPart.drop(self)

    cdef size_t nbytes(self) noexcept nogil:
        """Return the bytes held here."""
        cdef size_t held = 4 * self.excluded_tokens.size() + sizeof(Filter) * self.filters.size()
        held += sizeof(Tail) * self.tails.size() + sizeof(Exit) * self.tail_exits.size()
        held += map_nbytes(&self.slice_index)
        held += map_nbytes(&self.filter_index)
        held += map_nbytes(&self.both_index)
        held += map_nbytes(&self.row_index)
        return held

    cdef MaskId slice(self, RunId run, int32_t high) except -3 nogil:
        """Return the mask of the runs of at most ``high`` characters; the last one may be incomplete."""
        cdef Run r = self.runs.runs[run]
        cdef uint64_t key
        cdef MaskId found, whole
        cdef int32_t k, low, top, count
        cdef const TokenId* tokens
        cdef Mask mask = nothing()
        cdef uint32_t* row
        high = min(high, r.most_needed)
        key = (<uint64_t>run << 32) | <uint64_t>high
        found = map_get(&self.slice_index, key)
        if found != NO_VALUE:
            return found
        if has_groups(r):
            found = self.slice_of_groups(run, high)
            map_put(&self.slice_index, key, found)
            return found
        if high == r.most_needed and not is_sorted(r):
            self.runs.scan(run)
            found = self.mask_of(self.runs.found_tokens.data(), r.token_count)
            map_put(&self.slice_index, key, found)
            return found
        self.runs.sort_tokens(run)
        r = self.runs.runs[run]
        low = r.sorted_first
        top = r.sorted_first + r.token_count
        while low < top:
            k = (low + top) // 2
            if self.runs.needed[k] <= high:
                low = k + 1
            else:
                top = k
        count = low - r.sorted_first
        tokens = self.runs.tokens.data() + r.sorted_first
        if SPARSE * count > self.width and 2 * count > r.token_count and count < r.token_count:
            # most of the runs: clear the bits of the others
            whole = self.slice(run, UNBOUNDED)
            mask.dense = self.arena.new_row()
            row = self.arena.rows[mask.dense]
            memcpy(row, self.arena.rows[self.arena.masks[whole].dense], 4 * <size_t>self.width)
            tokens = self.runs.tokens.data() + r.sorted_first
            take_out(row, tokens + count, tokens + r.token_count)
            found = self.arena.add(mask)
        else:
            found = self.mask_of(tokens, count)
        map_put(&self.slice_index, key, found)
        return found

    cdef MaskId mask_of(self, const TokenId* tokens, int32_t count) except -3 nogil:
        """Return the mask of a list of tokens, as a list or as a row."""
        cdef Mask mask = nothing()
        if count == 0:
            return NO_TOKENS
        if SPARSE * count > self.width:
            mask.dense = self.arena.new_row()
            enter(self.arena.rows[mask.dense], tokens, tokens + count)
        else:
            mask.sparse_first = <int32_t>self.arena.sparse_tokens.size()
            mask.sparse_count = count
            self.arena.sparse_tokens.append(tokens, tokens + count)
        return self.arena.add(mask)

    cdef MaskId slice_of_groups(self, RunId run, int32_t high) except -3 nogil:
        """Return the mask of the runs of at most ``high`` characters, made from character groups."""
        cdef Run r = self.runs.runs[run]
        cdef Mask mask = nothing()
        cdef int32_t k, t, next
        cdef GroupId g
        cdef MaskId whole
        cdef int32_t count = 0, odd = 0
        cdef const TokenId* tokens = self.groups.tokens.data()
        # the tokens of groups that are partly in X
        cdef const TokenId* others = self.runs.tokens.data() + r.sorted_first
        cdef uint32_t* row = NULL
        for k in range(r.group_first, r.group_first + r.group_count):
            g = self.runs.groups[k]
            count += self.groups.up_to(g, high) - self.groups.first[g]
        while odd < r.sorted_count and self.runs.needed[r.sorted_first + odd] <= high:
            odd += 1
        count += odd
        if count == 0:
            return NO_TOKENS
        if SPARSE * count <= self.width:
            mask.sparse_first = <int32_t>self.arena.sparse_tokens.size()
            mask.sparse_count = count
            for k in range(r.group_first, r.group_first + r.group_count):
                g = self.runs.groups[k]
                t = self.groups.first[g]
                self.arena.sparse_tokens.append(tokens + t, tokens + self.groups.up_to(g, high))
            self.arena.sparse_tokens.append(others, others + odd)
            return self.arena.add(mask)
        mask.dense = self.arena.new_row()
        row = self.arena.rows[mask.dense]
        if 2 * count > r.token_count and count < r.token_count:
            # most of the runs: clear the bits of the others
            whole = self.slice(run, UNBOUNDED)
            memcpy(row, self.arena.rows[self.arena.masks[whole].dense], 4 * <size_t>self.width)
            for k in range(r.group_first, r.group_first + r.group_count):
                g = self.runs.groups[k]
                take_out(row, tokens + self.groups.up_to(g, high), tokens + self.groups.first[g + 1])
            others = self.runs.tokens.data() + r.sorted_first
            take_out(row, others + odd, others + r.sorted_count)
        elif count == r.token_count and 2 * count > <int32_t>self.groups.tokens.size():
            # most of the vocabulary: take out the other groups
            memcpy(row, self.groups.row.data(), 4 * self.groups.row.size())
            next = r.group_first
            for g in range(<int32_t>self.groups.sorts_of.size()):
                if next < r.group_first + r.group_count and self.runs.groups[next] == g:
                    next += 1
                else:
                    take_out(row, tokens + self.groups.first[g], tokens + self.groups.first[g + 1])
            enter(row, others, others + odd)
        else:
            for k in range(r.group_first, r.group_first + r.group_count):
                g = self.runs.groups[k]
                enter(row, tokens + self.groups.first[g], tokens + self.groups.up_to(g, high))
            enter(row, others, others + odd)
        return self.arena.add(mask)

    cdef FilterId filter_of(self, TailId tail, int32_t low, int32_t high) except -1 nogil:
        """Return the filter of the tokens that continue after a run of ``low`` to ``high`` characters.

        ``tail``: the exits where they continue. NO_FILTER: all tokens that continue pass. Tokens that do not
        pass through these exits may pass the filter or not.
        """
        cdef Tail at = self.tails[tail]
        cdef uint64_t key
        cdef FilterId found
        high = min(high, at.most_before)
        if low > at.most_before:
            low = at.most_before + 1
        if low == 0 and high == at.most_before:
            return NO_FILTER
        if (at.most_before + 1) >> COUNT_BITS:
            # too many characters for a key: such tokens are as long as books
            return self.make_filter(at, low, high)
        key = (<uint64_t>tail << 2 * COUNT_BITS) | (<uint64_t>low << COUNT_BITS) | <uint64_t>high
        found = map_get(&self.filter_index, key)
        if found == NO_VALUE:
            found = self.make_filter(at, low, high)
            map_put(&self.filter_index, key, found)
        return found

    cdef FilterId make_filter(self, Tail at, int32_t low, int32_t high) except -1 nogil:
        """Make the filter that removes the tokens after longer and shorter runs."""
        cdef RowId found
        cdef int32_t k, t
        cdef NodeId i
        cdef int32_t inside = 0, outside = 0
        cdef bint fits, most
        cdef Nodes n
        cdef uint32_t* row
        cdef vector[TokenId] left_out
        n = self.context.tries.nodes(self.runs.runs[at.run].place)
        for k in range(at.first, at.first + at.count):
            i = node_at(self.tail_exits[k].place)
            t = n.token_first[n.end[i]] - n.token_first[i]
            if low <= self.tail_exits[k].count <= high:
                inside += t
            else:
                outside += t
        if outside <= FEW_OUTSIDE:
            for k in range(at.first, at.first + at.count):
                if not low <= self.tail_exits[k].count <= high:
                    i = node_at(self.tail_exits[k].place)
                    left_out.insert(
                        left_out.end(), n.tokens + n.token_first[i], n.tokens + n.token_first[n.end[i]]
                    )
            return self.add_filter(NO_ROW, left_out)
        found = self.arena.new_row()
        row = self.arena.rows[found]
        # begin with an empty or a full row, whichever needs fewer changes
        most = inside > outside
        if most:
            memset(row, 0xFF, 4 * <size_t>self.width)
        for k in range(at.first, at.first + at.count):
            fits = low <= self.tail_exits[k].count <= high
            if fits == most:
                continue
            i = node_at(self.tail_exits[k].place)
            if most:
                take_out(row, n.tokens + n.token_first[i], n.tokens + n.token_first[n.end[i]])
            else:
                enter(row, n.tokens + n.token_first[i], n.tokens + n.token_first[n.end[i]])
        return self.add_filter(found, left_out)

    cdef FilterId filter_both(self, FilterId a, FilterId b) except -1 nogil:
        """Return the filter of the tokens that pass both filters. Remembered."""
        cdef uint64_t key
        cdef FilterId found
        cdef int32_t i, side
        cdef vector[TokenId] tokens
        cdef Filter one
        if a == NO_FILTER or a == b:
            return b
        if b == NO_FILTER:
            return a
        key = (<uint64_t>a << 32) | <uint64_t>b
        found = map_get(&self.both_index, key)
        if found == NO_VALUE:
            for side in range(2):
                one = self.filters[b if side else a]  # mutant: both-filters
                for i in range(one.first, one.first + one.count):
                    tokens.push_back(self.excluded_tokens[i])
            found = self.add_filter(self.both_rows(self.filters[a].row, one.row), tokens)
            map_put(&self.both_index, key, found)
        return found

    cdef RowId both_rows(self, RowId a, RowId b) except? -1 nogil:
        """Return the row of the tokens in both rows; NO_ROW is all tokens. Remembered."""
        cdef uint64_t key
        cdef RowId found
        cdef int32_t k
        if a == NO_ROW or a == b:
            return b
        if b == NO_ROW:
            return a
        key = (<uint64_t>a << 32) | <uint64_t>b
        found = map_get(&self.row_index, key)
        if found == NO_VALUE:
            found = self.arena.new_row()
            for k in range(self.width):
                self.arena.rows[found][k] = self.arena.rows[a][k] & self.arena.rows[b][k]
            map_put(&self.row_index, key, found)
        return found

    cdef FilterId add_filter(self, RowId row, vector[TokenId]& excluded) except -1 nogil:
        """Return a new filter: the tokens of a row (NO_ROW: all tokens) without the excluded ones."""
        cdef Filter entry
        entry.row = row
        entry.first = <int32_t>self.excluded_tokens.size()
        entry.count = <int32_t>excluded.size()
        self.excluded_tokens.insert(self.excluded_tokens.end(), excluded.begin(), excluded.end())
        if self.spared.size() < excluded.size():
            self.spared.resize(excluded.size())
        self.filters.push_back(entry)
        return <int32_t>self.filters.size() - 1

    cdef int add_all(self) except -1 nogil:
        """Make the first filter: NO_FILTER, which all tokens pass."""
        cdef vector[TokenId] nothing_else
        self.add_filter(NO_ROW, nothing_else)
        return 0
