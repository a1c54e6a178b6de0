from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.constructors cimport Constructors
from stackmask.pda.terms.derivatives cimport Derivatives
from stackmask.pda.terms.emptiness cimport Emptiness
from stackmask.pda.ids cimport MapId, TermId
from stackmask.pda.terms.term_table cimport TermTable


cdef class Simplifier:
    cdef Constructors make
    cdef Derivatives derivatives
    cdef Emptiness emptiness
    cdef KeyMap simple          # term -> the repetition that it means, or itself
    cdef KeyMap textual         # term -> 1 if it holds well-formed UTF-8 only, else 0
    cdef KeyMap known_subsets   # term << 32 | term -> 1 if the second is seen to hold the first
    cdef KeyMap known_codes     # term -> 1 if it is seen to be a prefix code
    cdef bint searching         # for what a term simplifies to

    cdef size_t nbytes(self) noexcept nogil
    cdef TermId simplified(self, TermTable table, TermId t) except -1 nogil
    cdef TermId star_in(self, TermTable table, TermId t) except -2 nogil
    cdef bint is_empty_soon(self, TermTable table, TermId t) except -1 nogil
    cdef bint is_textual(self, TermTable table, TermId t) except -1 nogil
    cdef TermId both_repeats(self, TermTable table, TermId a, TermId b) except -2 nogil
    cdef bint is_subset(self, TermTable table, TermId a, TermId b) except -1 nogil
    cdef bint is_code(self, TermTable table, TermId item) except -1 nogil
