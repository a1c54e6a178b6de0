from libcpp.vector cimport vector

from stackmask.pda.terms.constructors cimport Constructors
from stackmask.pda.ids cimport GuardId, TermId
from stackmask.pda.terms.term_table cimport CallSite, TermTable


cdef class FirstCalls:
    cdef Constructors make

    cdef int find_sites(self, TermTable table, TermId t) except -1 nogil
    cdef int collect_sites(
        self, TermTable table, TermId t, GuardId guard, TermId continuation, vector[CallSite]& out
    ) except -1 nogil
