# Key states: which keys an object has so far, and which may still come.
from libc.stdint cimport int32_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.context.callables cimport CaptureTexts
from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    KeysId,
    NeedsId,
    RuleId,
    SlotId,
    SpecId,
    TermId,
    TestId,
    TextId,
    TextNodeId,
)
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.terms.term_store cimport TermStore

# What terms need: the key tests that can come first in them.

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

    cdef bint always_lives(self, TermId term) except FAILED nogil
    cdef NeedsId needs_at(self, TermId term) except ID_FAILED nogil
    cdef bint passes(self, TermId term) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef uint8_t known(self, TermId term) noexcept nogil
    cdef TermId tested(self, TermId term) except ID_FAILED nogil
    cdef NeedsId find_needs(self, TermId term) except ID_FAILED nogil
    cdef RuleId first_tests(self, TermId term) except ID_FAILED nogil
    cdef int meet(self, TermId term) except FAILED nogil
    cdef int add_test(self, TestId test) except FAILED nogil
    cdef int solve_rules(self) except FAILED nogil


# Sets of captured texts.

cdef enum:
    EMPTY_SET = 0


cdef struct TextNode:
    # a set of texts as a little-endian Patricia tree: a leaf (bit = 0), or two trees that differ in one bit
    uint32_t prefix     # the bits below `bit` that all texts share; of a leaf, the text
    uint32_t bit
    TextNodeId low      # texts without the bit
    TextNodeId high     # texts with it


cdef class TextSets:
    cdef vector[TextNode] nodes         # 0 is the empty set
    cdef IdTable index

    cdef bint has(self, TextNodeId node, uint32_t text) noexcept nogil
    cdef TextNodeId adding(self, TextNodeId node, uint32_t text) except ID_FAILED nogil
    cdef int list_texts(self, TextNodeId node, vector[TextId]& out) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef TextNodeId node(self, uint32_t prefix, uint32_t bit, TextNodeId low, TextNodeId high) except ID_FAILED nogil


# The undeclared keys of the object that was asked for last, spelled out.

cdef class UsedKeys:
    cdef TextSets sets
    cdef CaptureTexts texts
    cdef TextNodeId spelled_set             # the set that `spelled` lists
    cdef vector[vector[uint8_t]] spelled
    cdef uint64_t generation                # how often the list was begun anew; else it only grows

    cdef int spell(self, TextNodeId used) except ID_FAILED nogil


cdef enum:
    KEYS_NONE = 0       # outside every object
    KEYS_UNKNOWN = 1    # in mask walks: the object around the walk
    NOT_NOW = -1        # the key may not come
    NOT_KNOWN = -2      # in mask walks: whether it may depends on the keys used

cdef enum Undeclared:
    # which undeclared keys an object has used, as far as a state knows
    USED_SET            # those of a set
    USED_ANY            # in the views that mask walks have of a state: any; the next one is assumed to be new
    USED_ANY_AND_ONE    # the same, after that key


cdef struct Spec:
    int32_t slots
    int32_t words       # 64-bit words of a set of tests
    int32_t required    # words[required:]: the required slots, as tests
    int32_t missing     # how many they are
    int32_t min_count
    int32_t max_count   # or UNBOUNDED
    KeysId fresh        # the state of an object without keys, or UNKNOWN
    bint ordered
    bint open


cdef struct KeyState:
    SpecId spec         # or NO_SPEC: outside of every object, or in one of which a walk knows nothing
    int32_t undeclared  # of `Undeclared`
    TextNodeId used     # of USED_SET: the set of undeclared keys used, a node of TextSets; else EMPTY_SET
    int32_t count       # keys so far; counted only as far as the bounds need
    int32_t missing     # required slots that are not taken
    SlotId past         # ordered: slots before this one may not come any more
    int32_t taken       # words[taken:]: slots taken, as tests; none where they are ordered
    int32_t holds       # words[holds:]: the tests that hold


cdef class KeyStates:
    cdef TextSets key_sets              # the sets of undeclared keys
    cdef KeyNeeds needs                 # which tests terms need
    cdef vector[Spec] specs
    cdef vector[KeyState] states
    cdef vector[uint64_t] words
    cdef IdTable state_index
    cdef vector[uint64_t] scratch
    cdef vector[KeysId] view_of         # state -> view, or UNKNOWN
    cdef uint64_t max_states
    cdef dict numbers                   # KeySpec -> its number

    # queries of configurations; the state must be known
    cdef bint holds(self, KeysId state, TestId test) noexcept nogil
    cdef KeysId take(self, KeysId state, SlotId slot) except ID_FAILED nogil
    cdef KeysId use(self, KeysId state, TextId text) except ID_FAILED nogil
    cdef KeysId fresh(self, SpecId spec) except ID_FAILED nogil
    cdef KeysId view(self, KeysId state) except ID_FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef bint lives(self, KeysId state, NeedsId needs) noexcept nogil

    cdef KeysId intern(self, KeyState k) except ID_FAILED nogil
    cdef int find_holding(self, KeyState* k) except FAILED nogil
