# Singular paths of an automaton. See paths.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.runtime.fsm.dfa cimport Dfa


cdef class Paths:
    cdef vector[uint8_t] text           # the bytes of all segments
    cdef vector[int32_t] begin          # state -> where its forced bytes begin in text, or NOT_FORCED
    cdef vector[int32_t] past           # segment -> where it ends in text, ascending
    cdef vector[int32_t] after          # segment -> the state after it
    cdef readonly int32_t states

    cdef int32_t lay(self, Dfa dfa, int32_t head, const vector[uint8_t]& forced) except -1 nogil
    cdef size_t segment_of(self, int32_t state) noexcept nogil
    cdef bytes forced(self, int32_t state)
