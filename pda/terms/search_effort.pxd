from libc.stdint cimport int32_t, int64_t

from stackmask.pda.ids cimport TermId
from stackmask.pda.terms.term_table cimport TermTable
from stackmask.pda.memory.hash_tables cimport KeyMap


cdef int64_t effort(TermTable terms, TermId t, KeyMap* known, int depth) except -1 nogil
