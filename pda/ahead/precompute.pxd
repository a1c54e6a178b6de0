# Masks made ahead of time. See precompute.pyx.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.masks.engine cimport MaskEngine
from stackmask.pda.masks.assembly.worklist cimport Worklist
from stackmask.pda.ahead.reachable_states cimport Reachable


cdef class Precomputation:
    cdef MaskEngine masks
    cdef Reachable found
    cdef int64_t budget
    cdef bint searched                  # the states are known
    cdef bint over_budget               # ... but not all of them
    cdef size_t next                    # member whose mask comes next
    cdef size_t expanded                # visits of this pass that are done with
    cdef Worklist work                  # the visits of this pass
    cdef uint64_t walks_before          # ... this pass
    cdef int32_t epoch                  # of the masks, while they hold
    cdef int64_t walks
    cdef int64_t visits_done
    cdef int64_t passes
    cdef bint reads                     # some masks depend on what was written
    cdef readonly object stopped        # why, where not all was made

    cdef bint made                      # all masks are there that could be made
    cdef ConfigSpace family             # of the matchers, or None
    cdef vector[ConfigId] queue         # its configurations, in the order of a search breadth first
    cdef vector[uint8_t] seen           # by configuration
    cdef vector[uint32_t] words         # scratch: a mask
    cdef int32_t filled                 # of the queue
    cdef int64_t cost                   # of that
    cdef uint64_t first_walk            # the counters of the engine before: walks,
    cdef uint64_t nodes_before          # ... nodes,
    cdef uint64_t steps_before          # ... steps of configurations

    cdef bint make(self, double until) except -1
    cdef int64_t spent(self) noexcept
    cdef bint fits(self) except -1
    cdef bint fill(self, double until) except -1
    cdef bint is_free(self, ConfigId config, uint8_t byte) except -1
    cdef int enter(self, ConfigId config) except -1
