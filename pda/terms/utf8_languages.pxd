from libc.stdint cimport int32_t

from stackmask.pda.terms.term_table cimport TermTable


cdef bint is_wellformed(TermTable terms, int32_t t) except -1
