# The masks of local states, remembered. See local_masks.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.masks.shared.arena cimport Include, Mask, MaskArena
from stackmask.pda.masks.shared.part cimport MaskPart
from stackmask.pda.masks.prefixes.literal_masks cimport LiteralMasks
from stackmask.pda.masks.runs.run_splitting cimport DeferredRun, RunMember, RunSplitter
from stackmask.pda.masks.runs.slices cimport Slices
from stackmask.pda.masks.walk.token_partition cimport TokenPartition
from stackmask.pda.masks.walk.trie_walk cimport TrieWalk
from stackmask.pda.masks.walk.walk_result cimport RepeatableWalk, WalkQuery, WalkResult
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef class LocalMasks(MaskPart):
    cdef MaskArena arena
    cdef Slices slices
    cdef RunSplitter splitter
    cdef TokenPartition partition
    cdef LiteralMasks literals
    cdef TrieWalk walker
    cdef KeyMap state_masks             # semantic state << 32 | state << 1 | strict -> mask
    cdef KeyMap subtree_masks           # state << 32 | node << 1 | strict -> mask of the node's subtree
    cdef KeyMap entry_index             # group << 32 | semantic state -> entry
    cdef int32_t entries
    cdef KeyMap children                # entry << 33 | return state << 1 | strict -> mask
    cdef KeyMap after_run_index         # (run << 31 | configuration) << 1 | strict -> mask
    cdef vector[RepeatableWalk] repeatables
    cdef vector[int32_t] return_states
    cdef vector[int32_t] walked_places
    cdef readonly uint64_t shortened    # walks that left tokens to the token partition

    cdef int32_t make(
        self, WalkQuery query, vector[int32_t]& places, vector[int32_t]& origin, vector[Include]& includes
    ) except -3
    cdef int32_t keep(
        self, const WalkQuery& query, WalkResult& found, vector[Include]& includes
    ) except -3
    cdef int keep_tokens(self, WalkResult& found, Mask* mask) except -1
    cdef int keep_groups(self, const WalkQuery& query, WalkResult& found, Mask* mask) except -1
    cdef int32_t after_run(self, int32_t run, RunMember member, bint strict) except -3
    cdef int may_repeat(
        self,
        WalkQuery* query,
        int32_t state,
        int32_t sem,
        vector[int32_t]& places,
        bint closed,
        bint with_tokens,
    ) except -1
    cdef int include_run(
        self, DeferredRun deferred, bint strict, vector[Include]& out, vector[int32_t]& readers
    ) except -3
    cdef bint asks_state(self, int32_t mask) noexcept
    cdef bint is_worth_splitting(self, int32_t mask) noexcept
    cdef int32_t root(self, int32_t state, bint strict, bint is_literal=*) except -3
    cdef int32_t of_keyed_state(self, int32_t state, int32_t sem, bint strict) except -3
    cdef int32_t partition_of(
        self, int32_t state, int32_t sem, bint strict, int32_t start, vector[Include]& includes
    ) except -3
    cdef int32_t of_state_under(self, int32_t state, int32_t node, bint strict) except -3
    cdef int32_t child(
        self, int32_t group, int32_t continuation, int32_t sem, bint strict, bint is_literal=*
    ) except -3
