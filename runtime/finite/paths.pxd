# Singular paths of an automaton. See paths.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.runtime.finite.dfa cimport Dfa


cdef class Paths:
    cdef vector[uint8_t] text           # the bytes of all segments
    cdef vector[int32_t] begin          # state -> where its segment begins in text
    cdef vector[int32_t] length         # state -> bytes of its segment; 0 where the next byte is not forced
    cdef vector[int32_t] after          # state -> the state after its segment
    cdef readonly int32_t states
    cdef readonly int32_t segments

    cdef void lay(self, Dfa dfa, int32_t head, const vector[uint8_t]& forced) noexcept nogil
    cdef bytes forced(self, int32_t state)
