# Literals by number. See literal_table.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.terms.term_store cimport TermStore


cdef struct Literal:
    int32_t first       # items[first:first + count] are its terms
    int32_t count
    int32_t term        # all of it as one term, or -1 if not made
    int32_t mask        # its mask for the whole vocabulary, or -1 if not made
    uint64_t begins[4]  # the bytes that it can begin with


cdef class LiteralTable:
    cdef TermStore terms
    cdef Growing[int32_t] items
    cdef Growing[Literal] literals
    cdef IdTable index

    cdef size_t nbytes(self) noexcept
    cdef int32_t number_of(self, const vector[int32_t]& path) except -1
    cdef int32_t term_of(self, int32_t literal) except -1
    cdef int forget_masks(self) noexcept
