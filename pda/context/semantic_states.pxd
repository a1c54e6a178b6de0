# Semantic states: what a configuration knows beyond its stack. See semantic_states.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.context.key_text cimport KeyText
from stackmask.pda.context.object_keys cimport KeyStates
from stackmask.pda.memory.hash_tables cimport IdTable, KeyMap
from stackmask.pda.terms.ids cimport ActionId, KeysId, ResolverId, SemId, SpecId, TermId, TextId, ValueId

cdef enum:
    SEM_PLAIN = 0       # the state of grammars without semantics, and the initial value of the others
    SEM_SYMBOL = 1      # in mask walks: the semantic state where the walk starts, which is not known
    SEM_UNSURE = 2      # likewise, after an action that may have forbidden this reading
    FORBIDDEN = -1      # the action does not allow the return
    NEEDS_STATE = -2    # the answer depends on a state that the walk does not know
    # stand-ins for the text of an undeclared key in walks: no byte, one byte or more bytes read so far
    KEY_OF_NONE = 1
    KEY_OF_ONE = 2
    KEY_OF_MORE = 3
    FIRST_TEXT = 4
    # answers of `key_suffixes`
    NO_KEYS = 0
    WHOLE_KEYS = 1
    OPENED_KEYS = 2
    UNOPENED_KEYS = 3


cdef struct Sem:
    SemId parent        # the state around an open capture, or -1: then `value` and `keys` hold
    ValueId value       # (parent < 0)
    KeysId keys         # of the object around (parent < 0)
    TextId text         # captured so far (parent >= 0)


cdef class Semantics:
    cdef vector[Sem] sems
    cdef IdTable sem_index
    cdef readonly KeyStates keys
    cdef KeyText key_text
    cdef list values                    # value id -> object; None for links and the symbol
    cdef dict value_index               # object -> value
    cdef KeyMap link_index              # value << 32 | text -> link
    cdef vector[int32_t] value_tag     # VALUE_OBJECT, VALUE_LINK or VALUE_SYMBOL
    cdef vector[int32_t] value_parent   # links: the stack without its top
    cdef vector[int32_t] value_text     # links: the text on top
    cdef vector[uint8_t] value_symbolic  # it depends on the unknown state
    cdef vector[uint8_t] value_unsure   # ... and follows an action that may have forbidden it
    cdef KeyMap pairs                   # value << 32 | text -> pair
    cdef KeyMap ended                   # pair << 32 | action -> value after a callable, or FORBIDDEN
    cdef KeyMap text_index              # text without its last byte << 8 | byte -> text; text 0 is empty
    cdef vector[int32_t] text_parent
    cdef vector[uint8_t] text_byte
    cdef vector[int32_t] text_left      # bytes that the capture still keeps; -1: all
    cdef dict bounded                   # most bytes kept -> the empty text of such captures
    cdef list actions
    cdef vector[uint8_t] action_tag    # ACT_CALL, ACT_PUSH or ACT_KEY
    cdef vector[int32_t] action_text    # the text that its captures begin with
    cdef list resolvers
    cdef vector[int32_t] bounds         # resolver -> a term that holds all its answers, or NEEDS_STATE
    cdef object resolve_term            # (resolver answer) -> term
    cdef KeyMap resolved                # resolver << 32 | value -> term
    cdef KeyMap known_sure              # value << 32 | text of a capture -> no action can forbid its end
    cdef dict numbers                   # (what, entry) -> its number in actions or resolvers
    cdef uint64_t max_states

    cdef int32_t number_of(self, list table, str what, object entry) except -1
    cdef SemId intern(self, SemId parent, ValueId value, KeysId keys, TextId text) except -3
    cdef TextId bounded_text(self, object most) except -1
    cdef TextId longer(self, TextId text, uint8_t byte) except -1
    cdef int spell(self, TextId text, vector[uint8_t]& out) except -1
    cdef bytes text_of(self, TextId text)
    cdef ValueId add_value(
        self, object value, int32_t kind, ValueId parent, TextId text, bint symbolic
    ) except -1
    cdef ValueId call(self, ValueId value, vector[uint8_t]& text, TextId text_id, ActionId action) except -3
    cdef bint is_unsure(self, SemId sem) noexcept
    cdef ValueId link(self, ValueId parent, TextId text) except -1
    cdef ValueId value_of(self, object value) except -1
    cdef SemId root(self, SemId sem) noexcept
    cdef bint in_capture(self, SemId sem) noexcept
    cdef SemId with_root(self, SemId sem, SemId root) except -3
    cdef SemId with_keys(self, SemId sem, KeysId keys) except -3
    cdef SemId append(self, SemId sem, uint8_t byte) except -3
    cdef SemId begin(self, SemId sem, ActionId action) except -3
    cdef SemId begin_key(self, SemId sem) except -3
    cdef SemId begin_unknown(self, SemId sem, ActionId action) except -3
    cdef bint keeps_bytes(self, SemId sem) noexcept
    cdef SemId end(self, SemId sem, ActionId action) except -3
    cdef bytes first_of(self, vector[uint8_t]& text, ActionId action)
    cdef TermId resolve(self, SemId sem, ResolverId resolver) except -3
    cdef TermId bound_of(self, ResolverId resolver) noexcept
    cdef SemId unsure(self, SemId sem) except -3
    cdef bint may_forbid(self, ActionId action)
    cdef int is_sure(self, SemId sem) except -1
    cdef bint is_callable(self, ActionId action)
    cdef bint is_key(self, ActionId action)
    cdef KeysId keys_at(self, SemId sem) noexcept
    cdef SemId symbol_with(self, KeysId keys) except -3
    cdef SemId symbol_after_key(self, KeysId keys) except -3
    cdef int key_suffixes(self, SemId sem, vector[vector[uint8_t]]& out) except -3
    cdef SemId enter(self, SemId sem, SpecId spec, bint is_walk) except -3
    cdef SemId test(self, SemId sem, int32_t test) except -3
    cdef int lives(self, SemId sem, TermId term) except -3
