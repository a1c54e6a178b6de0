from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.constructors cimport Constructors
from stackmask.pda.ids cimport GuardId, RuleId, TermId
from stackmask.pda.terms.steps cimport Steps
from stackmask.pda.terms.term_table cimport Ends, Term, TermTable


cdef class Endings:
    cdef Constructors make
    cdef Steps steps
    cdef KeyMap index               # term * 64 + guard -> index in `found`
    cdef vector[Ends] found
    cdef KeyMap rule_index          # rule * 64 + guard -> index in `rule_found`
    cdef vector[Ends] rule_found
    cdef vector[uint64_t] rule_keys
    cdef size_t final               # pairs before this index have their final values
    cdef bint solving               # the fixpoint over the rules
    cdef bint changed               # ... and its last round found more

    cdef size_t nbytes(self) noexcept nogil
    cdef int ends(self, TermTable table, TermId t, GuardId guard, Ends* out) except -1 nogil
    cdef int ends_of(self, TermTable table, TermId t, GuardId guard, Ends* out) except -1 nogil
    cdef int ends_of_item(self, TermTable table, TermId t, GuardId guard, Ends* out) except -1 nogil
    cdef int ends_of_repeat(self, TermTable table, Term u, GuardId guard, Ends* out) except -1 nogil
    cdef int rule_ends(self, TermTable table, RuleId rule, GuardId guard, Ends* out) except -1 nogil
    cdef int forget(self) except -1 nogil
