# The walks that make masks of local states. See trie_walk.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.stack.configuration_table cimport Config
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.masks.arena cimport Include
from stackmask.pda.masks.runs.run_splitting cimport Later, RunPart
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.masks.prefixes.literal_masks cimport WordWalks


cdef struct Joint:
    # a walk that can be repeated with the frames below its start known: remainders that are larger than the
    # vocabulary cost more to merge than to walk again
    int32_t state
    int32_t sem
    bint closed             # the start is a return state, with its calls
    bint with_tokens
    int32_t rest_first      # what is returned to, first to last: rests[rest_first:][:rest_count]
    int32_t rest_count
    int32_t below_first     # what is walked: walked_places[below_first:][:below_count]
    int32_t below_count


cdef class MaskWalks(WordWalks):
    cdef KeyMap keyed_roots                 # semantic state << 32 | state << 1 | strict -> mask
    cdef KeyMap roots_below                 # state << 32 | node << 1 | strict -> mask
    cdef KeyMap entry_index                 # group << 32 | semantic state -> entry
    cdef int32_t entries
    cdef KeyMap children                    # entry << 33 | rest << 1 | strict -> mask
    cdef KeyMap rest_index                  # (run << 31 | configuration) << 1 | strict -> mask
    cdef vector[Joint] joints
    cdef vector[int32_t] rests
    cdef vector[int32_t] walked_places
    cdef readonly uint64_t walks
    cdef readonly uint64_t visited_nodes
    cdef readonly uint64_t shortened        # walks that left settled or short tokens aside
    cdef readonly uint64_t taken            # subtrees of the vocabulary that were taken whole

    cdef int drop(self) except -1
    cdef int32_t walk(
        self,
        int32_t start,
        vector[int32_t]& below,
        int32_t run,
        vector[int32_t]& origin,
        bint with_tokens,
        bint strict,
        vector[Include]& includes,
        Joint* again,
    ) except -3
    cdef bint opens_key(self, Config config) noexcept
    cdef int32_t behind(self, int32_t run, RunPart part, bint strict) except -3
    cdef int may_repeat(
        self, Joint* again, int32_t state, int32_t sem, vector[int32_t]& below
    ) except -1
    cdef int include_run(
        self, Later later, bint strict, vector[Include]& out, vector[int32_t]& readers
    ) except -3
    cdef bint asks(self, int32_t mask) noexcept
    cdef int32_t root(self, int32_t state, bint strict, bint words=*) except -3
    cdef int32_t keyed_root(self, int32_t state, int32_t sem, bint strict) except -3
    cdef int32_t child(self, int32_t group, int32_t rest, int32_t sem, bint strict, bint words=*) except -3
