# How many bytes are left to the end of a configuration. See estimates.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.completion.term_costs cimport TermCosts
from stackmask.pda.context.callables cimport Owed
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport ACTION_KEYED, CallId, ConfigId, FrameId, KeysId, TermId, TestId
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configuration_draft cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport CALL_RULE, Call, Term


cdef struct Tested:
    # in bytes, over the strings of a term
    int32_t untested        # the fewest without a test of keys
    int32_t tested          # the fewest whose first test holds; tests after that are not looked at


cdef struct Missing:
    # of a key state where further keys come, in bytes, with what is before them
    int32_t first           # the next key that the object needs
    int32_t all             # all of them; UNKNOWN where nobody asked


cdef int32_t with_owed(int32_t left, Owed owed) noexcept nogil


cdef inline bint is_part(const Call& call) noexcept nogil:
    # Tell whether a call is of a rule that tests keys of the same object.
    return call.kind == CALL_RULE and call.action != ACTION_KEYED


cdef class KeyRepetitions:
    # owner: Estimates
    cdef TermStore terms
    cdef KeyMap index                   # state of an object -> its repetition, or EMPTY
    cdef vector[TermId] queue           # scratch

    cdef TermId of_state(self, TermId state) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil


cdef class Estimates:
    # owner: Completions, of one family
    cdef ConfigSpace family
    cdef TermStore terms
    cdef Semantics semantics
    cdef TermCosts costs
    cdef bint prepared                  # what the objects of the grammar need is known
    cdef vector[CallId] objects         # calls of the objects of the grammar, given by the owner
    cdef KeyRepetitions repetitions
    cdef KeyMap frame_index             # frame << 32 | key state -> index in frame_found
    cdef vector[int32_t] frame_found    # bytes
    cdef KeyMap keyed_index             # term << 32 | key state -> index in keyed_found
    cdef vector[Tested] keyed_found
    cdef vector[uint8_t] keyed_stage    # of keyed_found
    cdef KeyMap missing_index           # repetition << 32 | key state -> index in missing_found
    cdef vector[Missing] missing_found
    cdef bint relaxed                   # any key that may come is taken
    cdef vector[uint64_t] frame_stack
    cdef vector[uint64_t] term_stack
    cdef KeyMap representatives         # what terms need to know of a key state -> one of these states

    cdef int prepare(self) except -1 nogil
    cdef int draft(self, vector[CallId]& objects) except -1 nogil
    cdef int32_t of_object(self, CallId call) except -1 nogil
    cdef int forget(self) except -1 nogil
    cdef int32_t of_config(self, ConfigId config) except -1 nogil
    cdef int32_t of_member(self, Member m) except -1 nogil
    cdef int32_t of_state(self, TermId state, KeysId keys) except -1 nogil
    cdef int32_t of_frame(self, FrameId frame, KeysId keys) except -1 nogil
    cdef KeysId keys_after(self, int32_t edge, KeysId keys) except -1 nogil
    cdef uint64_t frame_key(self, FrameId frame, KeysId keys) noexcept nogil
    cdef bint is_wanted(self, KeysId keys, TestId test) noexcept nogil
    cdef bint needs_keys(self, KeysId keys) noexcept nogil
    cdef int32_t more_keys(self, TermId state, KeysId keys) except -1 nogil
    cdef int32_t of_missing(self, TermId more, KeysId keys) except -1 nogil
    cdef int keyed(self, TermId t, KeysId keys, Tested* out) except -1 nogil
    cdef bint ready(self, TermId t, KeysId keys, Tested* out) except -1 nogil
    cdef uint64_t term_key(self, TermId t, KeysId keys) noexcept nogil
    cdef bint part(self, TermId t, KeysId keys, Tested* out) except -1 nogil
    cdef bint of_keyed_call(self, Term u, KeysId keys, Tested* out) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef TestId first_missing(self, KeysId keys) noexcept nogil
    cdef KeysId representative(self, KeysId keys) except -1 nogil
