# Hash-consed terms: the local states of the automaton. See term_store.pyx for the algebra.
from libc.stdint cimport int32_t

from stackmask.pda.terms.term_table cimport Ends
from stackmask.pda.terms.emptiness cimport TermSearches


cdef class TermStore(TermSearches):
    cdef int ends(self, int32_t t, int32_t guard, Ends* out) except -1
    cdef int ends_of(self, int32_t t, int32_t guard, Ends* out) except -1
    cdef int ends_part(self, int32_t t, int32_t guard, Ends* out) except -1
    cdef int forget_ends(self) except -1
    cdef int rule_ends(self, int32_t rule, int32_t guard, Ends* out) except -1
    cpdef int32_t literal(self, bytes data) except -1
    cpdef int32_t add_call(self, int32_t rule, int32_t action) except -1
    cpdef int32_t call(self, int32_t call, bint nonempty=*, bint keys=*) except -1
    cpdef int32_t add_rule(self, object nu) except -1
    cpdef int set_rule(self, int32_t rule, int32_t body, int32_t height) except -1
