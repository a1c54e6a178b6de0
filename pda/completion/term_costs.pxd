# The fewest bytes of terms and rules. See term_costs.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport CallId, RuleId, TermId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport Term

cdef enum:
    NO_END = 1 << 28        # more bytes than any string that is looked for: there is none


cdef struct Cost:
    # in bytes, where a special token counts as one. NO_END where there is no such string
    int32_t least           # of the shortest string; 1 more than that, so that 0 means not known yet
    int32_t least_filled    # of the shortest string that is not empty; likewise


cdef inline int32_t joined(int32_t a, int32_t b) noexcept nogil:
    # the bytes of two strings, one after the other
    return min(a + b, <int32_t>NO_END)


cdef class TermCosts:
    cdef TermStore terms
    cdef Growing[Cost] of_term          # by term; 0 where it is not known
    cdef vector[Cost] of_rule           # by rule; likewise
    cdef vector[int32_t] drafted        # by call of an object: bytes that its required keys add
    cdef vector[uint8_t] settled        # by call: whether that is known for good
    cdef bint drafting                  # costs that are found go by what may still change
    cdef vector[TermId] unsettled_terms  # whose costs do
    cdef vector[RuleId] unsettled_rules
    # one solution
    cdef vector[TermId] order           # terms to solve, what they consist of first
    cdef vector[RuleId] open_rules      # rules to solve
    cdef vector[Cost] found             # of `order`
    cdef KeyMap place                   # term -> index in `order`
    cdef KeyMap rule_place              # rule -> index in `open_rules`
    cdef vector[Cost] rule_found        # of `open_rules`
    cdef vector[uint64_t] stack

    cdef bint is_settled(self, CallId call) noexcept nogil
    cdef int begin_drafts(self) except -1 nogil
    cdef bint state_object(self, CallId call, int32_t bytes) except -1 nogil
    cdef int forget(self) noexcept nogil
    cdef int settle(self, vector[CallId]& objects) noexcept nogil
    cdef int abandon(self, vector[CallId]& objects) noexcept nogil
    cdef int32_t least(self, TermId t) except -1 nogil
    cdef Cost cost_of(self, TermId t) except * nogil
    cdef int solve(self, TermId t) except -1 nogil
    cdef bint survey(self, TermId t, vector[CallId]& objects) except -1 nogil
    cdef int collect(self, TermId t) except -1 nogil
    cdef int push_parts(self, TermId t) except -1 nogil
    cdef int push(self, TermId t) except -1 nogil
    cdef Cost known(self, TermId t) noexcept nogil
    cdef Cost composed(self, TermId t) except * nogil
    cdef Cost of_call(self, Term u) except * nogil
    cdef int search(self, TermId t, Cost* out) except -1 nogil
    cdef int search_filled(self, TermId t, int32_t* out) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
