# Masks that are still to be looked at, each once. See worklist.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct Visit:
    int32_t mask
    int32_t frame
    int32_t continuation        # what comes before the frame, as it was cut off a state: a state, or EPS
    int32_t action      # ... and what happens before that: the action of an undeclared key, or ACTION_NONE
    int32_t filter      # or NO_FILTER
    int32_t keys        # key state of the object that the mask is in, KEYS_NONE outside all
    bint unsure         # an action on the way may forbid
    int32_t origin      # the group of places of the vocabulary that its tokens are below, or -1


cdef class Worklist:
    cdef vector[Visit] visits
    cdef KeyMap index                       # hash of a visit, or the next one that was free -> its number
    cdef bint indexed                       # `index` holds the visits

    cdef int clear(self) noexcept
    cdef size_t nbytes(self) noexcept
    cdef int add(self, const Visit& v) except -1
    cdef bint is_known(self, const Visit& v) except -1
