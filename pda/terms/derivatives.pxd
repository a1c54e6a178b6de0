from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.terms.constructors cimport TermAlgebra
from stackmask.pda.terms.term_table cimport CallSite, Term


cdef class TermMoves(TermAlgebra):
    cdef bint searching     # for what a term simplifies to

    cdef int32_t classes_of(self, int32_t t) except -1
    cdef int32_t classes_of_kids(self, Term u) except -1
    cdef int32_t derive(self, int32_t t, int32_t symbol) except -1
    cdef int32_t class_of(self, int32_t t, int32_t symbol) except -1
    cdef int32_t behind_first(self, Term u) except -1
    cdef bint may_begin(self, int32_t t, int32_t byte, int levels) noexcept
    cdef int32_t derive_raw(self, int32_t t, int32_t symbol) except -1
    cdef int32_t derive_part(self, int32_t t, int32_t symbol) except -1
    cdef bint is_live(self, int32_t t) except -1
    cdef bint is_open(self, int32_t t) noexcept
    cdef bint explore(self, int32_t t) except -1
    cdef int32_t prune(self, int32_t t) except -1
    cdef int32_t step(self, int32_t t, int32_t symbol) except -1
    cdef int find_sites(self, int32_t t) except -1
    cdef int collect_sites(self, int32_t t, int32_t guard, int32_t rest, vector[CallSite]& out) except -1
    cdef int32_t simplified(self, int32_t t) except -1
    cdef int32_t star_in(self, int32_t t) except -2
    cdef bint is_empty_soon(self, int32_t t) except -1
    cdef bint is_part(self, int32_t a, int32_t b) except -1
    cdef bint is_code(self, int32_t item) except -1
