# Where further keys of an object come in its states. See key_repetitions.pyx.
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ACTION_KEYED, TermId
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport CALL_RULE, Call


cdef inline bint is_part(const Call& call) noexcept nogil:
    # Tell whether a call is of a rule that tests keys of the same object.
    return call.kind == CALL_RULE and call.action != ACTION_KEYED


cdef class KeyRepetitions:
    # owner: Estimates
    cdef TermStore terms
    cdef KeyMap index                   # state of an object -> its repetition, or EMPTY
    cdef vector[TermId] queue           # scratch

    cdef TermId of_state(self, TermId state) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
