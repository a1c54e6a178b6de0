# Key states: which keys an object has so far, and which may still come. See object_keys.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.terms.ids cimport KeysId, SpecId, TermId, TextId
from stackmask.pda.terms.term_store cimport TermStore

cdef enum:
    KEYS_NONE = 0       # outside every object
    KEYS_UNKNOWN = 1    # in mask walks: the object around the walk
    NOT_NOW = -1        # the key may not come
    NOT_KNOWN = -2      # in mask walks: whether it may depends on the keys used
    # in place of a set of texts, in the views that mask walks have of a state
    SOME_TEXTS = -1     # whatever was used; the next undeclared key is taken to be another
    MORE_TEXTS = -2     # the same, after that key
    # tests are numbered: these kinds, then the slots
    TEST_CLOSE = 0
    TEST_CONTINUE = 1
    TEST_UNDECLARED = 2
    TEST_SLOT = 3


cdef struct Spec:
    int32_t slots
    int32_t words       # 64-bit words of a set of tests
    int32_t required    # words[required:]: the required slots, as tests
    int32_t missing     # how many they are
    int32_t min_count
    int32_t max_count   # -1 without bound
    KeysId fresh        # the state of an object without keys, or -1
    bint ordered
    bint open


cdef struct KeyState:
    SpecId spec
    int32_t texts       # the set of undeclared keys used: a node, or SOME_TEXTS or MORE_TEXTS
    int32_t count       # keys so far, no more than matters
    int32_t missing     # required slots that are not taken
    int32_t past        # ordered: slots below are over
    int32_t taken       # words[taken:]: slots taken, as tests; none where they are ordered
    int32_t holds       # words[holds:]: the tests that hold


cdef struct TextNode:
    # a set of texts as a little-endian Patricia tree: a leaf (bit = 0), or two trees that differ in one bit
    uint32_t prefix     # the bits below `bit` that all texts share; of a leaf, the text
    uint32_t bit
    int32_t low         # texts without the bit
    int32_t high        # texts with it


cdef struct Needs:
    # the tests that can come first; as a list, or as words where they are many
    int32_t first
    int32_t count
    int32_t words


cdef class KeyStates:
    cdef TermStore terms
    cdef vector[Spec] specs
    cdef vector[KeyState] states
    cdef vector[uint64_t] words
    cdef vector[TextNode] nodes         # 0 is the empty set
    cdef IdTable state_index
    cdef IdTable node_index
    cdef vector[Needs] needs            # 0: no test must hold
    cdef Growing[int32_t] needs_of       # term -> needs, or -1
    cdef vector[int32_t] needed         # tests of the lists in `needs`
    cdef Growing[uint8_t] passes_of      # term -> 0 unknown, 1 some way through it meets no test, 2 none does
    cdef vector[uint8_t] rule_passes    # likewise
    cdef vector[vector[int32_t]] rule_tests     # rule -> the tests that can come first in it
    cdef vector[int32_t] touched        # terms whose answer may change while rules are solved
    cdef bint solving
    cdef vector[uint64_t] scratch
    cdef vector[uint64_t] tests         # scratch: those that `first_tests` found, as bits
    cdef vector[int32_t] met            # scratch: the terms that it looked at
    cdef Growing[uint8_t] seen          # by term: whether it is among them
    cdef vector[int32_t] view_of        # state -> view, or -1
    cdef uint64_t max_states
    cdef dict numbers                   # KeySpec -> its number

    # the questions that a configuration asks; all of them of states that are known
    cdef bint holds(self, KeysId state, int32_t test) noexcept
    cdef KeysId take(self, KeysId state, int32_t slot) except -3
    cdef KeysId use(self, KeysId state, TextId text) except -3
    cdef KeysId fresh(self, SpecId spec) except -3
    cdef KeysId view(self, KeysId state) except -3
    cdef size_t nbytes(self) noexcept
    cdef int texts_of(self, int32_t node, vector[int32_t]& out) except -1
    cdef bint lives(self, KeysId state, int32_t needs) noexcept
    cdef bint always_lives(self, TermId term) except -1
    cdef int32_t needs_at(self, TermId term) except -3

    cdef KeysId intern(self, KeyState k) except -3
    cdef int find_holding(self, KeyState* k) except -1
    cdef int32_t text_node(self, uint32_t prefix, uint32_t bit, int32_t low, int32_t high) except -1
    cdef bint has_text(self, int32_t node, uint32_t text) noexcept
    cdef int32_t with_text(self, int32_t node, uint32_t text) except -1
    cdef bint passes(self, TermId term) except -1
    cdef uint8_t known(self, TermId term) noexcept
    cdef TermId tested(self, TermId term) except -3
    cdef int32_t find_needs(self, TermId term) except -3
    cdef int32_t first_tests(self, TermId term) except -3
    cdef int meet(self, TermId term) except -1
    cdef int add_test(self, int32_t test) except -1
    cdef int solve_rules(self) except -1
