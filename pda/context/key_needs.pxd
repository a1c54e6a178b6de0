# What terms need: the key tests that can come first in them. See key_needs.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.terms.ids cimport TermId
from stackmask.pda.terms.term_store cimport TermStore

cdef enum:
    FREE = 0            # needs nothing
    # tests are numbered: first these three, then one for each slot
    TEST_CLOSE = 0
    TEST_CONTINUE = 1
    TEST_UNDECLARED = 2
    TEST_SLOT = 3


cdef struct Needs:
    # the tests that can come first: a list, or 64-bit words if there are many
    int32_t first
    int32_t count
    int32_t words


cdef class KeyNeeds:
    cdef TermStore terms
    cdef vector[Needs] sets             # 0: no test must hold
    cdef Growing[int32_t] needs_of       # term -> needs, or -1
    cdef vector[int32_t] tests_of       # tests of the lists in `sets`
    cdef vector[uint64_t] words         # sets of many tests, as bits
    cdef Growing[uint8_t] passes_of      # term -> 0 unknown, YES: some path through it meets no test, NO
    cdef vector[uint8_t] rule_passes    # likewise
    cdef vector[vector[int32_t]] rule_tests     # rule -> the tests that can come first in it
    cdef vector[int32_t] touched        # terms whose answer may change while rules are solved
    cdef bint solving
    cdef vector[uint64_t] tests         # scratch: those that `first_tests` found, as bits
    cdef vector[int32_t] met            # scratch: the terms that it visited
    cdef Growing[uint8_t] seen          # by term: whether it is among them

    cdef bint always_lives(self, TermId term) except -1
    cdef int32_t needs_at(self, TermId term) except -3
    cdef bint passes(self, TermId term) except -1
    cdef size_t nbytes(self) noexcept

    cdef uint8_t known(self, TermId term) noexcept
    cdef TermId tested(self, TermId term) except -3
    cdef int32_t find_needs(self, TermId term) except -3
    cdef int32_t first_tests(self, TermId term) except -3
    cdef int meet(self, TermId term) except -1
    cdef int add_test(self, int32_t test) except -1
    cdef int solve_rules(self) except -1
