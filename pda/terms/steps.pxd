from libc.stdint cimport int32_t

from stackmask.pda.terms.constructors cimport Constructors
from stackmask.pda.terms.derivatives cimport Derivatives
from stackmask.pda.terms.emptiness cimport Emptiness
from stackmask.pda.ids cimport SymbolId, TermId
from stackmask.pda.terms.simplifier cimport Simplifier
from stackmask.pda.terms.term_table cimport TermTable


cdef class Steps:
    cdef Constructors make
    cdef Derivatives derivatives
    cdef Emptiness emptiness
    cdef Simplifier simplifier

    cdef TermId step(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil
    cdef TermId prune(self, TermTable table, TermId t) except -1 nogil
