# Actions and resolvers. See callables.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.context.capture_texts cimport CaptureTexts
from stackmask.pda.context.semantic_values cimport SemanticValues
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.term_table cimport TermTable
from stackmask.pda.ids cimport ActionId, ResolverId, TermId, TextId, ValueId

cdef enum:
    FORBIDDEN = -1      # the action does not allow the return
    NEEDS_STATE = -2    # the answer depends on a state that the walk does not know
    ACT_CALL = 0    # may forbid
    ACT_PUSH = 1
    ACT_KEY = 2
    ACT_UPDATE = 3  # a callable that never forbids


cdef struct Owed:
    # what a value says that its text still needs
    int32_t bytes
    bint in_name            # the open capture reads some of them
    int32_t first           # in owed_text: how the text may go on
    int32_t count


cdef class Callables:
    cdef TermTable terms
    cdef CaptureTexts texts
    cdef SemanticValues values
    cdef list actions
    cdef vector[uint8_t] kinds          # of actions: ACT_CALL, ACT_PUSH, ACT_KEY or ACT_UPDATE
    cdef vector[TextId] first_texts     # of actions: the text that their captures begin with
    cdef list resolvers
    cdef vector[TermId] bounds          # resolver -> a term that holds all its answers, or NEEDS_STATE
    cdef object resolve_term            # (resolver answer) -> term
    cdef KeyMap resolved                # resolver << 32 | value -> term
    cdef KeyMap pairs                   # value << 32 | text -> pair
    cdef KeyMap ended                   # pair << 32 | action -> value after a callable, or FORBIDDEN
    cdef KeyMap known_sure              # value << 32 | text of a capture -> no action can forbid its end
    cdef KeyMap owed_index              # value << 32 | text of the open capture -> index in owed_found
    cdef vector[Owed] owed_found
    cdef vector[uint8_t] owed_text
    cdef dict owed_places               # text -> its first byte in owed_text
    cdef dict numbers                   # (what, entry) -> its number in actions or resolvers

    cdef ValueId call(
        self, ValueId value, vector[uint8_t]& text, TextId text_id, ActionId action
    ) except -3 nogil
    cdef ValueId ask(
        self, ValueId value, vector[uint8_t]& text, TextId text_id, ActionId action
    ) except -3 with gil
    cdef TermId resolve(self, ValueId value, ResolverId resolver) except -3 nogil
    cdef TermId ask_resolver(self, ValueId value, ResolverId resolver) except -3 with gil
    cdef int owed(self, ValueId value, TextId text, Owed* out) except -1 nogil
    cdef int ask_owed(self, ValueId value, TextId text, Owed* out) except -1 with gil
    cdef tuple checked_owed(self, object answer)
    cdef int32_t enter_owed(self, bytes data) except -2
    cdef int is_sure(self, ValueId value, TextId text) except -1 nogil
    cdef int ask_all(self, ValueId value, TextId text) except -1 with gil
    cdef size_t nbytes(self) noexcept nogil
    cdef bytes first_of(self, vector[uint8_t]& text, ActionId action)
    cdef int32_t number_of(self, list table, str what, object entry) except -1
