from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.terms.term_table cimport TermTable


cdef class TermAlgebra(TermTable):
    cdef int32_t guard_first(self, int32_t g, int32_t t) except -3
    cdef int32_t intern_seq(self, int32_t a, int32_t b) except -1
    cdef int factor(self, vector[int32_t]& items, int depth) except -1
    cdef int merge_repeats(self, vector[int32_t]& items, int depth) except -1
    cdef int32_t mk_guard(self, int32_t g) except -1
    cdef int32_t mk_set(self, int32_t set_id) except -1
    cdef int32_t mk_literal(self, int32_t offset, int32_t length) except -1
    cdef int32_t mk_seq(self, int32_t a, int32_t b) except -1
    cdef int32_t mk_alt(self, vector[int32_t]& items, int depth) except -1
    cdef int32_t mk_alt2(self, int32_t a, int32_t b) except -1
    cdef int32_t mk_rep(self, int32_t item, int32_t low, int32_t high) except -1
    cdef int32_t mk_and(self, vector[int32_t]& items) except -1
    cdef int32_t mk_not(self, int32_t item) except -1
    cdef bint is_textual(self, int32_t t) except -1
    cdef int32_t both_repeats(self, int32_t a, int32_t b) except -2
