from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, ID_FAILED, NO_TERM, GuardId, SetId, TermId
from stackmask.pda.terms.term_table cimport TermTable


cdef int drop_included(TermTable table, vector[TermId]& items) except FAILED nogil


cdef bint is_wellformed(TermTable terms, TermId t) except FAILED nogil


cdef struct OperandRules:
    # queries of an intersection about its operands, each answered by a search; all NULL: no queries.
    # `simplifier` is borrowed: the caller keeps it alive
    void* simplifier
    # whether a term holds well-formed text only
    bint (*is_textual)(void* simplifier, TermTable table, TermId t) except FAILED nogil
    # what two repetitions have in common if it is one term, else NO_TERM
    TermId (*both_repeats)(void* simplifier, TermTable table, TermId a, TermId b) except ID_FAILED nogil


cdef class Constructors:
    cdef OperandRules rules
    cdef TermId any_text        # the term of every well-formed text, or NO_TERM while there is none
    cdef dict literals          # bytes -> their place in the pool
    cdef size_t literal_count       # entries of it

    cdef size_t nbytes(self) noexcept nogil
    cdef TermId guard_first(self, TermTable table, GuardId g, TermId t) except ID_FAILED nogil
    cdef TermId intern_seq(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef TermId join_counts(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef int factor(self, TermTable table, vector[TermId]& items, int depth) except FAILED nogil
    cdef int merge_repeats(self, TermTable table, vector[TermId]& items, int depth) except FAILED nogil
    cdef TermId mk_guard(self, TermTable table, GuardId g) except ID_FAILED nogil
    cdef TermId mk_set(self, TermTable table, SetId set_id) except ID_FAILED nogil
    cdef TermId mk_literal(self, TermTable table, int32_t offset, int32_t length) except ID_FAILED nogil
    cdef TermId mk_bytes(self, TermTable table, bytes data) except ID_FAILED
    cdef TermId mk_seq(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef TermId mk_alt(self, TermTable table, vector[TermId]& items, int depth) except ID_FAILED nogil
    cdef TermId mk_alt2(self, TermTable table, TermId a, TermId b) except ID_FAILED nogil
    cdef TermId mk_rep(self, TermTable table, TermId item, int32_t low, int32_t high) except ID_FAILED nogil
    cdef TermId mk_and(self, TermTable table, vector[TermId]& items) except ID_FAILED nogil
    cdef int drop_any_text(self, TermTable table, vector[TermId]& items) except FAILED nogil
    cdef bint join_repeats(self, TermTable table, vector[TermId]& items) except FAILED nogil
    cdef TermId mk_not(self, TermTable table, TermId item) except ID_FAILED nogil
