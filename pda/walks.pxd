# The walks that make masks of local states. See walks.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.config_table cimport Config
from stackmask.pda.mask_table cimport Include
from stackmask.pda.run_cuts cimport Later
from stackmask.pda.shortcuts cimport Shortcuts
from stackmask.pda.tables cimport KeyMap


cdef enum:
    NOT_JOINT = -2      # no mask: too many frames are known already


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


cdef class MaskWalks(Shortcuts):
    cdef vector[int32_t] roots              # state -> mask, or -1
    cdef vector[int32_t] strict_roots       # likewise, where a return below may be forbidden
    cdef KeyMap keyed_roots                 # semantic state << 32 | state << 1 | strict -> mask
    cdef KeyMap entry_index                 # group << 32 | semantic state -> entry
    cdef int32_t entries
    cdef KeyMap children                    # entry << 33 | rest << 1 | strict -> mask
    cdef KeyMap rest_index                  # (run << 31 | configuration) << 1 | strict -> mask
    cdef vector[Joint] joints
    cdef vector[int32_t] rests
    cdef vector[int32_t] walked_places
    cdef KeyMap joint_index                 # (joint << 32 | rest) << 1 | strict -> mask
    cdef KeyMap grouped_index               # joint << 1 | strict -> mask
    cdef readonly uint64_t walks
    cdef readonly uint64_t visited_nodes
    cdef readonly uint64_t shortened        # walks that left settled or short tokens aside

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
    cdef int32_t grouped_mask(self, int32_t number, bint strict) except -3
    cdef int32_t joint_mask(self, int32_t number, int32_t rest, bint strict) except -3
    cdef bint is_too_much(
        self,
        vector[uint64_t]& keys,
        vector[vector[int32_t]]& by_group,
        vector[int32_t]& has_run,
        int32_t sem,
    ) noexcept
    cdef bint opens_key(self, Config config) noexcept
    cdef int32_t behind(self, int32_t run, int32_t config, bint strict) except -3
    cdef int include_run(self, Later later, bint strict, vector[Include]& out) except -3
    cdef bint asks(self, int32_t mask) noexcept
    cdef int32_t root(self, int32_t state, bint strict) except -3
    cdef int32_t keyed_root(self, int32_t state, int32_t sem, bint strict) except -3
    cdef int32_t child(self, int32_t group, int32_t rest, int32_t sem, bint strict) except -3
