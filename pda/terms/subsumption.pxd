from libcpp.vector cimport vector

from stackmask.pda.ids cimport TermId
from stackmask.pda.terms.term_table cimport TermTable


cdef int drop_included(TermTable table, vector[TermId]& items) except -1 nogil
