# Key states: which keys an object has so far, and which may still come. See object_keys.pyx.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.context.key_needs cimport KeyNeeds
from stackmask.pda.context.text_sets cimport TextSets
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.ids cimport KeysId, NeedsId, SlotId, SpecId, TestId, TextId, TextNodeId

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
    cdef KeysId take(self, KeysId state, SlotId slot) except -3 nogil
    cdef KeysId use(self, KeysId state, TextId text) except -3 nogil
    cdef KeysId fresh(self, SpecId spec) except -3 nogil
    cdef KeysId view(self, KeysId state) except -3 nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef bint lives(self, KeysId state, NeedsId needs) noexcept nogil

    cdef KeysId intern(self, KeyState k) except -3 nogil
    cdef int find_holding(self, KeyState* k) except -1 nogil
