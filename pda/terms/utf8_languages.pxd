from stackmask.pda.ids cimport TermId
from stackmask.pda.terms.term_table cimport TermTable


cdef bint is_wellformed(TermTable terms, TermId t) except -1 nogil
