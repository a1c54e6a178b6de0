from libc.stdint cimport int32_t

from stackmask.pda.ids cimport SetId, TermId
from stackmask.pda.terms.term_table cimport TermTable


cdef str dump_term(TermTable table, TermId t)
cpdef str dump_rules(TermTable table, object rules)
cdef str dump_set(TermTable table, SetId set_id)
