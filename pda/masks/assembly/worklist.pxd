# The masks to visit, each once. See worklist.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FilterId, FrameId, KeysId, MaskId, ReturnAction, SuffixesId, TermId
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct Visit:
    MaskId mask
    FrameId frame
    TermId continuation         # the state that follows the mask, before the frame; EPS: none
    ReturnAction action     # between mask and continuation: of an undeclared key, or ACTION_NONE
    FilterId filter     # or NO_FILTER
    KeysId keys         # key state of the object around, KEYS_NONE outside every object
    bint unsure         # an action before the mask may forbid
    SuffixesId origin   # the group of places in whose subtrees its tokens are, or NO_SUFFIXES


cdef class Worklist:
    cdef vector[Visit] visits
    cdef KeyMap index                       # hash of a visit, or the next free number -> index in `visits`
    cdef bint indexed                       # `index` holds the visits

    cdef int clear(self) noexcept nogil
    cdef int drop(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef int add(self, const Visit& v) except -1 nogil
    cdef bint is_known(self, const Visit& v) except -1 nogil
