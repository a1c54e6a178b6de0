# The masks to visit, each once. See worklist.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct Visit:
    int32_t mask
    int32_t frame
    int32_t continuation        # the state that follows the mask, before the frame; EPS: none
    int32_t action      # the action between mask and continuation: that of an undeclared key, or ACTION_NONE
    int32_t filter      # or NO_FILTER
    int32_t keys        # key state of the object around, KEYS_NONE outside every object
    bint unsure         # an action before the mask may forbid
    int32_t origin      # the group of places in whose subtrees its tokens are, or -1


cdef class Worklist:
    cdef vector[Visit] visits
    cdef KeyMap index                       # hash of a visit, or the next free number -> index in `visits`
    cdef bint indexed                       # `index` holds the visits

    cdef int clear(self) noexcept
    cdef int drop(self) except -1
    cdef size_t nbytes(self) noexcept
    cdef int add(self, const Visit& v) except -1
    cdef bint is_known(self, const Visit& v) except -1
