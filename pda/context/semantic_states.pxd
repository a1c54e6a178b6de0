# Semantic states: what a configuration knows beyond its stack. See semantic_states.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.context.callables cimport Callables, Owed
from stackmask.pda.context.capture_texts cimport CaptureTexts
from stackmask.pda.context.key_text cimport KeyText
from stackmask.pda.context.object_keys cimport KeyStates
from stackmask.pda.context.semantic_values cimport SemanticValues
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.ids cimport ActionId, KeysId, ResolverId, SemId, SpecId, TermId, TestId, TextId, ValueId

cdef enum:
    SEM_PLAIN = 0       # the state of grammars without semantics, and the initial value of the others
    SEM_SYMBOL = 1      # in mask walks: the state of the frame outside the walk is not known
    SEM_UNSURE = 2      # likewise, after an action that may have forbidden what is read
    # answers of `read_of_key`
    NO_KEYS = 0
    WHOLE_KEYS = 1
    OPENED_KEYS = 2
    UNOPENED_KEYS = 3


cdef struct Sem:
    SemId parent        # the state around an open capture, or NO_SEM outside of all captures
    ValueId value       # outside of captures
    KeysId keys         # outside of captures: of the object around
    TextId text         # in a capture: what is captured so far


cdef class Semantics:
    cdef vector[Sem] sems
    cdef IdTable sem_index
    cdef readonly KeyStates keys
    cdef KeyText key_text
    cdef CaptureTexts texts
    cdef SemanticValues values
    cdef Callables callables            # actions and resolvers
    cdef uint64_t max_states

    cdef SemId intern(self, SemId parent, ValueId value, KeysId keys, TextId text) except -3 nogil
    cdef bint is_unsure(self, SemId sem) noexcept nogil
    cdef SemId root(self, SemId sem) noexcept nogil
    cdef bint in_capture(self, SemId sem) noexcept nogil
    cdef SemId with_root(self, SemId sem, SemId root) except -3 nogil
    cdef SemId with_keys(self, SemId sem, KeysId keys) except -3 nogil
    cdef SemId append(self, SemId sem, uint8_t byte) except -3 nogil
    cdef SemId begin(self, SemId sem, ActionId action) except -3 nogil
    cdef SemId begin_key(self, SemId sem) except -3 nogil
    cdef SemId begin_unknown(self, SemId sem, ActionId action) except -3 nogil
    cdef bint keeps_bytes(self, SemId sem) noexcept nogil
    cdef SemId end(self, SemId sem, ActionId action) except -3 nogil
    cdef TermId resolve(self, SemId sem, ResolverId resolver) except -3 nogil
    cdef TermId bound_of(self, ResolverId resolver) noexcept nogil
    cdef SemId unsure(self, SemId sem) except -3 nogil
    cdef bint may_forbid(self, ActionId action) noexcept nogil
    cdef int is_sure(self, SemId sem) except -1 nogil
    cdef bint is_callable(self, ActionId action) noexcept nogil
    cdef bint is_key(self, ActionId action) noexcept nogil
    cdef KeysId keys_at(self, SemId sem) noexcept nogil
    cdef SemId symbol_with(self, KeysId keys) except -3 nogil
    cdef SemId symbol_after_key(self, KeysId keys) except -3 nogil
    cdef int read_of_key(self, SemId sem, vector[uint8_t]& value) except -3 nogil
    cdef SemId enter(self, SemId sem, SpecId spec, bint is_walk) except -3 nogil
    cdef SemId test(self, SemId sem, TestId test) except -3 nogil
    cdef int lives(self, SemId sem, TermId term) except -3 nogil
    cdef TextId key_value(self, TextId text) except -3 nogil


cdef int owed_at(Semantics semantics, SemId sem, Owed* out) except -1 nogil
