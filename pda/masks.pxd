# The masks of configurations, put together from those of local states. See masks.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.configurations cimport ConfigSpace
from stackmask.pda.frames cimport Edge
from stackmask.pda.simulation cimport Simulation
from stackmask.pda.tables cimport IdTable, KeyMap


cdef struct Visit:
    int32_t mask
    int32_t frame
    int32_t filter      # or NO_FILTER
    int32_t keys        # key state of the object that the mask is in, KEYS_NONE outside all
    bint unsure         # an action on the way may forbid
    int32_t origin      # the group of places of the vocabulary that its tokens are below, or -1


cdef struct Part:
    # one thing to "or" into the result: a mask, or (mask < 0) the pending tokens -1 - mask
    int32_t mask
    int32_t filter


cdef struct Joined:
    int32_t first       # joined_parts[first:first + count]
    int32_t count
    int32_t row


cdef class MaskStore(Simulation):
    cdef vector[Part] joined_parts
    cdef vector[Joined] joined              # masks of several parts that were put together before
    cdef IdTable joined_index
    cdef KeyMap joined_before               # hash of a list of parts -> rows that it has cost so far
    cdef uint64_t weighed                   # walks when that was looked at last
    # scratch of one fill
    cdef vector[Visit] visits
    cdef bint sure                          # no action can forbid the end of a capture that is open
    cdef vector[Part] parts_unsure          # what only the real configuration can confirm
    cdef vector[uint32_t] unsure            # and its tokens
    cdef vector[Part] parts_found
    cdef KeyMap visited
    cdef bint visited_ready                 # `visited` holds the visits of this fill
    cdef int32_t epoch                      # counts how often the masks were dropped
    cdef readonly uint64_t fills
    cdef readonly uint64_t hits
    cdef readonly uint64_t joins
    cdef readonly uint64_t most_visits

    cdef int visit(
        self, int32_t mask, int32_t frame, int32_t filter, int32_t keys, bint unsure=*, int32_t origin=*
    ) except -3
    cdef int try_unsure(self, uint32_t* words) except -3
    cdef int expand(self, ConfigSpace family, Visit at) except -3
    cdef bint is_few(self, int32_t group) noexcept
    cdef int repeat(self, ConfigSpace family, Visit at, int32_t joint) except -3
    cdef bint is_strict(self, ConfigSpace family, int32_t frame) noexcept
    cdef bint any_exit(self, ConfigSpace family, int32_t frame, uint64_t ends) except -1
    cdef int32_t child_of(
        self, ConfigSpace family, int32_t group, Edge edge, Visit at, int32_t* keys
    ) except -3
    cdef int32_t root_of(self, int32_t state, int32_t keys, bint strict) except -3
    cdef int collect(self, ConfigSpace family, int32_t config) except -3
    cdef int collect_below(self, ConfigSpace family, int32_t config, int32_t above) except -3
    cdef int settle(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef int settle_place(
        self, ConfigSpace family, int32_t config, int32_t node, bint inclusive, uint32_t* words
    ) except -3
    cdef bint any_keys(self, ConfigSpace family, int32_t config) noexcept
    cdef int weigh(self) except -1
    cdef int32_t join(self) except -3
    cdef int apply(self, Part part, uint32_t* words) noexcept
    cdef const uint32_t* finished(self, ConfigSpace family, int32_t config) noexcept
    cdef int fill(self, ConfigSpace family, int32_t config, uint32_t* words) except -3
    cdef size_t nbytes(self) noexcept
