from libc.stdint cimport uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.derivatives cimport Derivatives
from stackmask.pda.ids cimport TermId
from stackmask.pda.terms.term_table cimport TermTable


cdef class Emptiness:
    cdef Derivatives derivatives
    cdef vector[vector[uint8_t]] endings    # bytes that led searches to an end, the most recently used first
    cdef KeyMap efforts                     # term -> about how many bytes a string of it needs
    cdef uint64_t max_explored

    cdef size_t nbytes(self) noexcept nogil
    cdef bint is_live(self, TermTable table, TermId t) except -1 nogil
    cdef bint is_open(self, TermTable table, TermId t) noexcept nogil
    cdef bint explore(self, TermTable table, TermId t) except -1 nogil
    cdef bint try_endings(self, TermTable table, TermId t) except -1 nogil
