# What terms need: the key tests that can come first in them. See key_needs.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.ids cimport NeedsId, RuleId, SlotId, TermId, TestId
from stackmask.pda.terms.term_store cimport TermStore

cdef enum:
    FREE = 0            # needs nothing
    # tests are numbered: first these three, then one for each slot
    TEST_CLOSE = 0
    TEST_CONTINUE = 1
    TEST_UNDECLARED = 2
    TEST_SLOT = 3


cdef inline bint is_slot(TestId test) noexcept nogil:
    return test >= TEST_SLOT


cdef inline SlotId slot_of(TestId test) noexcept nogil:
    return <SlotId>(<int32_t>test - TEST_SLOT)


cdef inline TestId test_of(SlotId slot) noexcept nogil:
    return <TestId>(<int32_t>slot + TEST_SLOT)


cdef struct Needs:
    # the tests that can come first: a list, or 64-bit words if there are many
    int32_t first
    int32_t count
    int32_t words


cdef class KeyNeeds:
    cdef TermStore terms
    cdef vector[Needs] sets             # 0: no test must hold
    cdef Growing[NeedsId] needs_of       # term -> needs, or UNKNOWN
    cdef vector[TestId] tests_of        # tests of the lists in `sets`
    cdef vector[uint64_t] words         # sets of many tests, as bits
    cdef Growing[uint8_t] passes_of      # term -> 0 unknown, YES: some path through it meets no test, NO
    cdef vector[uint8_t] rule_passes    # likewise
    cdef vector[vector[TestId]] rule_tests      # rule -> the tests that can come first in it
    cdef vector[TermId] touched         # terms whose answer may change while rules are solved
    cdef bint solving
    cdef vector[uint64_t] tests         # scratch: those that `first_tests` found, as bits
    cdef vector[TermId] met             # scratch: the terms that it visited
    cdef Growing[uint8_t] seen          # by term: whether it is among them

    cdef bint always_lives(self, TermId term) except -1 nogil
    cdef NeedsId needs_at(self, TermId term) except -3 nogil
    cdef bint passes(self, TermId term) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef uint8_t known(self, TermId term) noexcept nogil
    cdef TermId tested(self, TermId term) except -3 nogil
    cdef NeedsId find_needs(self, TermId term) except -3 nogil
    cdef RuleId first_tests(self, TermId term) except -3 nogil
    cdef int meet(self, TermId term) except -1 nogil
    cdef int add_test(self, TestId test) except -1 nogil
    cdef int solve_rules(self) except -1 nogil
