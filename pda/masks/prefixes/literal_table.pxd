# Literals by number. See literal_table.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport LiteralId, MaskId, TermId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.terms.term_store cimport TermStore


cdef struct Literal:
    int32_t first       # items[first:first + count] are its terms
    int32_t count
    TermId term         # all of it as one term, or NO_TERM if not made
    MaskId mask         # its mask for the whole vocabulary, or NO_MASK if not made
    uint64_t begins[4]  # the bytes that it can begin with


cdef struct Prefix:
    # what a state begins with: a literal of the table, or a term that is none
    int32_t number      # see `as_literal` and `as_term`
    bint is_literal


cdef inline LiteralId as_literal(const Prefix& prefix) noexcept nogil:
    return <LiteralId>prefix.number


cdef inline TermId as_term(const Prefix& prefix) noexcept nogil:
    return <TermId>prefix.number


cdef inline Prefix literal_prefix(LiteralId literal) noexcept nogil:
    cdef Prefix prefix
    prefix.number = <int32_t>literal
    prefix.is_literal = True
    return prefix


cdef inline Prefix term_prefix(TermId term) noexcept nogil:
    cdef Prefix prefix
    prefix.number = <int32_t>term
    prefix.is_literal = False
    return prefix


cdef class LiteralTable:
    cdef TermStore terms
    cdef Growing[TermId] items
    cdef Growing[Literal] literals
    cdef IdTable index

    cdef size_t nbytes(self) noexcept nogil
    cdef LiteralId number_of(self, const vector[TermId]& path) except -1 nogil
    cdef TermId term_of(self, Prefix prefix) except -1 nogil
    cdef int forget_masks(self) noexcept nogil
