# How many bytes are left to the end of a configuration.
from libc.stdint cimport int32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.context.callables cimport Owed
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport (
    ACTION_KEYED,
    FAILED,
    ID_FAILED,
    CallId,
    ConfigId,
    FrameId,
    KeysId,
    RuleId,
    TermId,
    TestId,
)
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configuration_table cimport Member
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport CALL_RULE, Call, Term


# The fewest bytes of terms and rules.

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
    cdef int begin_drafts(self) except FAILED nogil
    cdef bint state_object(self, CallId call, int32_t bytes) except FAILED nogil
    cdef int forget(self) noexcept nogil
    cdef int settle(self, vector[CallId]& objects) noexcept nogil
    cdef int abandon(self, vector[CallId]& objects) noexcept nogil
    cdef int32_t least(self, TermId t) except FAILED nogil
    cdef Cost cost_of(self, TermId t) except * nogil
    cdef int solve(self, TermId t) except FAILED nogil
    cdef bint survey(self, TermId t, vector[CallId]& objects) except FAILED nogil
    cdef int collect(self, TermId t) except FAILED nogil
    cdef int push_parts(self, TermId t) except FAILED nogil
    cdef int push(self, TermId t) except FAILED nogil
    cdef Cost known(self, TermId t) noexcept nogil
    cdef Cost composed(self, TermId t) except * nogil
    cdef Cost of_call(self, Term u) except * nogil
    cdef int search(self, TermId t, Cost* out) except FAILED nogil
    cdef int search_filled(self, TermId t, int32_t* out) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil


cdef struct Tested:
    # in bytes, over the strings of a term
    int32_t untested        # the fewest without a test of keys
    int32_t tested          # the fewest whose first test holds; tests after that are not looked at


cdef struct Missing:
    # of a key state where further keys come, in bytes, with what is before them
    int32_t first           # the next key that the object needs
    int32_t all             # all of them; UNKNOWN where it was not asked


cdef int32_t with_owed(int32_t left, Owed owed) noexcept nogil


cdef inline bint is_part(const Call& call) noexcept nogil:
    # Return whether a call is of a rule that tests keys of the same object.
    return call.kind == CALL_RULE and call.action != ACTION_KEYED


cdef class KeyRepetitions:
    # owner: Estimates
    cdef TermStore terms
    cdef KeyMap index                   # state of an object -> its repetition, or EMPTY
    cdef vector[TermId] queue           # scratch

    cdef TermId of_state(self, TermId state) except ID_FAILED nogil
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

    cdef int prepare(self) except FAILED nogil
    cdef int draft(self, vector[CallId]& objects) except FAILED nogil
    cdef int32_t of_object(self, CallId call) except FAILED nogil
    cdef int forget(self) except FAILED nogil
    cdef int32_t of_config(self, ConfigId config) except FAILED nogil
    cdef int32_t of_member(self, Member m) except FAILED nogil
    cdef int32_t of_state(self, TermId state, KeysId keys) except FAILED nogil
    cdef int32_t of_frame(self, FrameId frame, KeysId keys) except FAILED nogil
    cdef KeysId keys_after(self, int32_t edge, KeysId keys) except ID_FAILED nogil
    cdef uint64_t frame_key(self, FrameId frame, KeysId keys) noexcept nogil
    cdef bint is_wanted(self, KeysId keys, TestId test) noexcept nogil
    cdef bint needs_keys(self, KeysId keys) noexcept nogil
    cdef int32_t more_keys(self, TermId state, KeysId keys) except FAILED nogil
    cdef int32_t of_missing(self, TermId more, KeysId keys) except FAILED nogil
    cdef int keyed(self, TermId t, KeysId keys, Tested* out) except FAILED nogil
    cdef bint ready(self, TermId t, KeysId keys, Tested* out) except FAILED nogil
    cdef uint64_t term_key(self, TermId t, KeysId keys) noexcept nogil
    cdef bint part(self, TermId t, KeysId keys, Tested* out) except FAILED nogil
    cdef bint of_keyed_call(self, Term u, KeysId keys, Tested* out) except FAILED nogil
    cdef size_t nbytes(self) noexcept nogil
    cdef TestId first_missing(self, KeysId keys) noexcept nogil
    cdef KeysId representative(self, KeysId keys) except ID_FAILED nogil
