# Masks of local states, and the walks that make them. See walks.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.configurations cimport Config, ConfigSpace
from stackmask.pda.remainders cimport Forest
from stackmask.pda.runs cimport Runs
from stackmask.pda.semantics cimport Semantics
from stackmask.pda.tables cimport IdTable, KeyMap
from stackmask.pda.terms cimport TermStore
from stackmask.pda.trie cimport Trie

cdef enum:
    NO_TOKENS = 0       # the mask that allows nothing
    NO_RUN = -1
    NO_FILTER = -1


cdef struct Mask:
    int32_t dense           # number in rows, or -1: then sparse
    int32_t sparse_first    # tokens allowed whatever is below
    int32_t sparse_count
    int32_t pending_first   # tokens allowed if the frame below is alive under a pending guard
    int32_t pending_count
    int32_t group_first     # tokens that return with bytes left over: mask_groups[group_first:][:group_count]
    int32_t group_count
    int32_t include_first   # masks that are part of this one: includes[include_first:][:include_count]
    int32_t include_count
    int32_t reader_first    # where the semantic state decides: readers[reader_first:][:reader_count], places
    int32_t reader_count
    int32_t key_first       # where an undeclared key begins: key_starts[key_first:][:key_count], places
    int32_t key_count
    int32_t reads_tokens    # the semantic state decides on special tokens too


cdef struct Pending:
    uint64_t ends           # alive under any of these guards (bits)
    int32_t first           # sparse_tokens[first:first + count]
    int32_t count


cdef struct Include:
    uint64_t ends           # as in Pending; bit 0: whatever is below
    int32_t mask
    int32_t filter          # the row of tokens that it is cut down to, or NO_FILTER


cdef struct Group:
    # remainders with one pending guard and semantic state: what is left at some places and behind a run
    int32_t guard
    int32_t sem
    int32_t run             # or NO_RUN
    int32_t place_first     # places[place_first:place_first + place_count]
    int32_t place_count
    int32_t merged_first    # the same, merged: places[merged_first:][:merged_count]; -1 until it is needed
    int32_t merged_count


cdef struct RunPart:
    # a state X{low,high} rest that may be cut into runs
    int32_t code            # of X; NOT_A_CODE: it may not
    int32_t low
    int32_t high            # -1 without bound
    int32_t rest            # the configuration of what follows the run
    uint64_t ends


cdef struct Later:
    # a part of a walk that is taken from a run table when the walk is done
    int32_t part
    int32_t place
    int32_t filter
    int32_t least           # characters that the run must have, besides


cdef struct ByteSet:
    bint known
    uint64_t words[4]


cdef class MaskWalks:
    cdef TermStore terms
    cdef Semantics semantics
    cdef readonly ConfigSpace space
    cdef Trie trie
    cdef Forest forest
    cdef Runs runs
    cdef readonly int32_t width             # words of 32 bits in a mask
    cdef vector[Mask] masks
    cdef vector[uint32_t*] rows             # dense masks, joined masks and filters
    cdef vector[int32_t] sparse_tokens
    cdef vector[Pending] pendings
    cdef vector[Include] includes
    cdef vector[Group] groups               # interned by content: equal remainders are one id
    cdef IdTable group_index
    cdef vector[int32_t] mask_groups
    cdef vector[int32_t] places
    cdef vector[int32_t] readers
    cdef vector[int32_t] key_starts
    cdef vector[int32_t] roots              # state -> mask, or -1
    cdef vector[int32_t] strict_roots       # likewise, where a return below may be forbidden
    cdef KeyMap keyed_roots                 # semantic state << 32 | state << 1 | strict -> mask
    cdef KeyMap entry_index                 # group << 32 | semantic state -> entry
    cdef int32_t entries
    cdef KeyMap children                    # entry << 33 | rest << 1 | strict -> mask
    cdef KeyMap part_index                  # semantic state << 32 | state -> part
    cdef vector[RunPart] parts
    cdef KeyMap slice_index                 # run << 16 | characters -> mask
    cdef KeyMap filter_index                # run << 32 | low << 16 | high -> row
    cdef KeyMap both_index                  # filter << 32 | filter -> row
    cdef KeyMap rest_index                  # (run << 32 | configuration) << 1 | strict -> mask
    cdef vector[ByteSet] first              # configuration -> the bytes it can go on with
    cdef vector[int32_t] split_of           # configuration -> what is left without its runs; itself if it has none
    cdef vector[int32_t] split_first        # configuration -> its runs: split_parts[first:][:count]
    cdef vector[int32_t] split_count
    cdef vector[int32_t] split_parts
    cdef vector[int32_t] plain_of           # configuration -> the same without what narrows its runs; itself if none
    cdef vector[vector[int32_t]] class_tokens   # token class -> ids
    # scratch of one walk
    cdef vector[uint32_t] bits
    cdef vector[int32_t] stack
    cdef uint64_t max_bytes                 # all is dropped when more is held
    cdef readonly uint64_t walks
    cdef readonly uint64_t visited_nodes
    cdef readonly uint64_t drops            # how often all masks were dropped

    cdef int drop(self) except -1
    cdef KeyMap* index_number(self, int number) noexcept
    cdef int32_t new_row(self) except -1
    cdef int32_t intern_group(
        self, int32_t guard, int32_t sem, int32_t run, vector[int32_t]& places
    ) except -1
    cdef int first_of(self, int32_t config, uint64_t* words) except -1
    cdef int32_t part_of(self, int32_t state, int32_t sem) except -3
    cdef int split(self, int32_t config) except -3
    cdef int32_t plain_state(self, int32_t state) except -3
    cdef int32_t plain(self, int32_t config) except -3
    cdef int32_t narrow(self, int32_t config, int32_t place, vector[Later]& later, vector[int32_t]& left) except -3
    cdef int32_t slice(self, int32_t run, int32_t high) except -3
    cdef int32_t filter_of(self, int32_t run, int32_t low, int32_t high) except -3
    cdef int32_t filter_both(self, int32_t a, int32_t b) except -3
    cdef int32_t behind(self, int32_t run, int32_t config, bint strict) except -3
    cdef int include_run(self, Later later, bint strict, vector[Include]& out) except -3
    cdef int32_t cut_here(
        self, int32_t config, int32_t place, vector[Later]& later, vector[int32_t]& jobs, vector[int32_t]& job_configs
    ) except -3
    cdef int32_t store_bits(self, int32_t count, Mask* mask) except -3
    cdef int32_t walk(
        self,
        int32_t start,
        vector[int32_t]& below,
        int32_t run,
        vector[int32_t]& origin,
        bint with_tokens,
        bint strict,
    ) except -3
    cdef bint opens_key(self, Config config) noexcept
    cdef bint asks(self, int32_t mask) noexcept
    cdef int32_t root(self, int32_t state, bint strict) except -3
    cdef int32_t keyed_root(self, int32_t state, int32_t sem, bint strict) except -3
    cdef int32_t child(self, int32_t group, int32_t rest, int32_t sem, bint strict) except -3
    cdef int merge_places(self, vector[int32_t]& places) except -3
    cdef int merge_group(self, int32_t group) except -3
