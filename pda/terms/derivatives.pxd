from libc.stdint cimport int32_t

from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.constructors cimport Constructors
from stackmask.pda.ids cimport MapId, SymbolId, TermId
from stackmask.pda.terms.term_table cimport Term, TermTable

# return an equal term, a shorter one if it is known
ctypedef TermId (*Simplify)(void* simplifier, TermTable table, TermId t) except -1 nogil


cdef class Derivatives:
    cdef Constructors make
    cdef KeyMap known           # term << 16 | byte class or token class -> derivative, but for the first
    cdef Simplify simplify      # or NULL
    cdef void* simplifier       # borrowed: the caller keeps it alive

    cdef size_t nbytes(self) noexcept nogil
    cdef MapId classes_of(self, TermTable table, TermId t) except -1 nogil
    cdef MapId classes_of_run(self, TermTable table, TermId t) except -1 nogil
    cdef MapId classes_of_kids(self, TermTable table, Term u) except -1 nogil
    cdef TermId derive(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil
    cdef int32_t class_of(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil
    cdef TermId after_first(self, TermTable table, Term u) except -1 nogil
    cdef bint may_begin(self, TermTable table, TermId t, int32_t byte, int levels) noexcept nogil
    cdef TermId derive_raw(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil
    cdef int derive_anchors(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil
    cdef bint is_derived(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil
    cdef TermId derive_part(self, TermTable table, TermId t, SymbolId symbol) except -1 nogil
