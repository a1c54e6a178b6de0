# The masks to visit, each once. See worklist.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ActionId, FilterId, FrameId, KeysId, MaskId, SuffixesId, TermId
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef struct Visit:
    MaskId mask
    FrameId frame
    TermId continuation         # the state that follows the mask, before the frame; EPS: none
    ActionId action     # the action between mask and continuation: that of an undeclared key, or ACTION_NONE
    FilterId filter     # or NO_FILTER
    KeysId keys         # key state of the object around, KEYS_NONE outside every object
    bint unsure         # an action before the mask may forbid
    SuffixesId origin   # the group of places in whose subtrees its tokens are, or NO_SUFFIXES


cdef enum:
    FEW_VISITS = 32      # up to here a list is searched, not hashed


cdef inline bint same_visit(const Visit& v, const Visit& w) noexcept nogil:
    return (
        v.mask == w.mask
        and v.frame == w.frame
        and v.continuation == w.continuation
        and v.action == w.action
        and v.filter == w.filter
        and v.keys == w.keys
        and v.unsure == w.unsure
    )


cdef class Worklist:
    cdef vector[Visit] visits
    cdef KeyMap index                       # hash of a visit, or the next free number -> index in `visits`
    cdef bint indexed                       # `index` holds the visits

    cdef int clear(self) noexcept nogil
    cdef int drop(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef bint is_indexed(self, const Visit& v) except -1 nogil

    cdef inline int add(self, const Visit& v) except -1 nogil:
        """Add a visit unless it is in the list. Cost: a look-up; one pass over a short list."""
        if not self.is_known(v):
            self.visits.push_back(v)
        return 0

    cdef inline bint is_known(self, const Visit& v) except -1 nogil:
        """Tell whether a visit is in the list.

        In a long list, a new visit is entered into the index here: the caller adds it to the list.
        """
        cdef size_t i, n = self.visits.size()
        if n >= FEW_VISITS:
            return self.is_indexed(v)
        for i in range(n):
            if same_visit(v, self.visits[i]):
                return True
        return False
