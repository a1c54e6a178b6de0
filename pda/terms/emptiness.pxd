from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.terms.derivatives cimport TermMoves
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef class TermSearches(TermMoves):
    cdef vector[vector[uint8_t]] ways   # bytes that led searches to an end, the latest of use first
    cdef KeyMap efforts                 # term -> about how many bytes a text of it needs

    cdef bint follow_ways(self, int32_t t) except -1
