# The masks to visit, each once, and the operands that visits find. See worklist.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport (
    FilterId,
    FrameId,
    KeysId,
    MaskId,
    PendingId,
    ReturnAction,
    SuffixesId,
    TermId,
)
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


cdef struct Operand:
    # one operand of the union: the tokens that a mask allows whatever the stack is, or tokens under a guard
    MaskId mask             # NO_TOKENS if they are tokens under a guard
    PendingId pending       # number of such tokens in `arena.pendings`, or NO_PENDING
    FilterId filter         # only tokens that pass this filter count


cdef inline bint same_operand(const Operand* a, const Operand* b) noexcept nogil:
    return a.mask == b.mask and a.pending == b.pending and a.filter == b.filter


cdef class Operands:
    cdef vector[Operand] sure
    cdef vector[Operand] unsure         # tokens that only the real configuration can confirm

    cdef int clear(self) noexcept nogil
    cdef int add(self, MaskId mask, FilterId filter, bint unsure) except -1 nogil
