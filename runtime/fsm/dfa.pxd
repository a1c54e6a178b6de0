# A deterministic automaton over bytes, held as ranges.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED


cdef enum:
    NO_STATE = -1       # where nothing can be written any more


cdef class Dfa:
    # byte edges of state s: first[s] to first[s + 1], by ascending byte, disjoint
    cdef vector[int32_t] first
    cdef vector[uint8_t] low
    cdef vector[uint8_t] high           # inclusive
    cdef vector[int32_t] target
    cdef vector[uint8_t] accepting
    cdef vector[int32_t] special        # state * specials + symbol -> state
    cdef readonly int32_t start
    cdef readonly int32_t states
    cdef readonly int32_t specials

    cdef inline int32_t step(self, int32_t state, uint8_t byte) noexcept nogil:
        cdef int32_t a = self.first[state], b = self.first[state + 1], middle
        while b - a > 4:
            middle = (a + b) >> 1
            if self.low[middle] <= byte:
                a = middle
            else:
                b = middle
        while a < b:
            if self.low[a] > byte:
                return NO_STATE
            if self.high[a] >= byte:
                return self.target[a]
            a += 1
        return NO_STATE

    cdef int check(self) except FAILED


cdef object copied(const void* data, size_t count, dtype)
cdef int fill_ints(vector[int32_t]& out, array) except FAILED
cdef int fill_bytes(vector[uint8_t]& out, array) except FAILED


# Singular paths of an automaton.

cdef class Paths:
    cdef vector[uint8_t] text           # the bytes of all segments
    cdef vector[int32_t] begin          # state -> where its forced bytes begin in text, or NOT_FORCED
    cdef vector[int32_t] past           # segment -> where it ends in text, ascending
    cdef vector[int32_t] after          # segment -> the state after it
    cdef readonly int32_t states

    cdef int32_t lay(self, Dfa dfa, int32_t head, const vector[uint8_t]& forced) except FAILED nogil
    cdef size_t segment_of(self, int32_t state) noexcept nogil
    cdef bytes forced(self, int32_t state)


# Which states allow the same tokens.

cdef int32_t find_alike(
    Dfa dfa, int32_t length, vector[int32_t]& block, double deadline, double seconds
) except FAILED nogil
