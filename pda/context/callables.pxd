# Actions and resolvers.
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, ID_FAILED, ActionId, ResolverId, TermId, TextId, ValueId
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.terms.term_table cimport TermTable

# The values of semantic states.

cdef enum:
    VALUE_OBJECT = 0
    VALUE_LINK = 1
    VALUE_SYMBOL = 2
    VALUE_NEW_LINK = 3  # of a text that `new` has put there


cdef class SemanticValues:
    cdef list objects               # value -> object; None for links and the symbol
    cdef dict index                 # object -> value
    cdef size_t indexed             # entries of it
    cdef KeyMap links               # value << 32 | text -> link
    cdef KeyMap new_links           # likewise, of `new`
    cdef int64_t walked             # strings that the last `has_new` has compared
    cdef vector[int32_t] kind       # VALUE_OBJECT, VALUE_LINK, VALUE_NEW_LINK or VALUE_SYMBOL
    cdef vector[ValueId] parent     # links: the value that is without the last text
    cdef vector[TextId] text        # links: the text on top
    cdef vector[uint8_t] symbolic   # rests on the unknown state
    cdef vector[uint8_t] stands_in  # objects: it is a stand-in, or was made of one
    cdef object last                # the last object that was looked up,
    cdef ValueId last_value         # ... and its value
    cdef vector[uint8_t] unsure     # and comes after an action that may have forbidden it

    cdef ValueId add(
        self, object value, int32_t kind, ValueId parent, TextId text, bint symbolic
    ) except ID_FAILED nogil
    cdef ValueId link(self, ValueId parent, TextId text, int32_t kind=*) except ID_FAILED nogil
    cdef bint has_new(self, ValueId value, TextId text) noexcept nogil
    cdef ValueId value_of(self, object value) except ID_FAILED
    cdef size_t nbytes(self) noexcept nogil


# The texts of captures, as chains of bytes.

cdef enum:
    # texts of undeclared keys in walks, which do not keep them: by the bytes read so far, none, one, more
    KEY_OF_NONE = 1
    KEY_OF_ONE = 2
    KEY_OF_MORE = 3
    FIRST_TEXT = 4
    ALIKE_TEXT = FIRST_TEXT     # in place of the texts that an action does not tell apart


cdef class CaptureTexts:
    cdef KeyMap index               # text without its last byte << 8 | byte -> text; text 0 is empty
    cdef vector[TextId] parent      # the text without its last byte, or NO_PARENT
    cdef vector[uint8_t] last       # that byte
    cdef vector[uint8_t] first      # the first byte; 0 for an empty text
    cdef vector[int32_t] left       # bytes that the capture still keeps, or UNBOUNDED
    # of beginnings of keys: the text that they spell; NO_TEXT within an escape, and where it was not asked
    cdef vector[TextId] value
    cdef dict bounded               # most bytes kept, and how texts are told apart -> the empty text of such captures
    # where most texts are one: how the action tells the others apart, and by what of its value
    cdef list tellers
    cdef KeyMap teller              # text -> its index

    cdef int is_alike(self, TextId text, int32_t teller) except FAILED with gil
    cdef TextId bounded_text(self, object most) except ID_FAILED
    cdef TextId new_text(self, int32_t most) except ID_FAILED nogil
    cdef TextId longer(self, TextId text, uint8_t byte) except ID_FAILED nogil
    cdef int spell(self, TextId text, vector[uint8_t]& out) except FAILED nogil
    cdef bytes text_of(self, TextId text)
    cdef size_t nbytes(self) noexcept nogil


cdef enum:
    FORBIDDEN = -1      # the action does not allow the return
    NEEDS_STATE = -2    # the answer depends on a state that the walk does not know
    ACT_CALL = 0    # may forbid
    ACT_PUSH = 1
    ACT_KEY = 2
    ACT_UPDATE = 3  # a callable that never forbids
    ACT_NEW = 4     # pushes, and forbids what it has pushed already


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
    cdef vector[uint8_t] kinds          # of actions: ACT_CALL, ACT_PUSH, ACT_KEY, ACT_UPDATE or ACT_NEW
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
    cdef vector[int32_t] tests          # of actions: the index of what tells their texts apart, or -1
    cdef list known_tests
    cdef KeyMap first_alike             # value << 32 | test -> the text that a stand-in's capture begins with
    # (function, value) -> what callables depend on; (callable, that) -> the term of its answer
    cdef dict parts
    cdef size_t parts_kept
    cdef KeyMap stand_ins               # value -> the one that is asked about many texts at once
    cdef dict numbers                   # (what, entry) -> its number in actions or resolvers

    cdef ValueId call(
        self, ValueId value, vector[uint8_t]& text, TextId text_id, ActionId action
    ) except ID_FAILED nogil
    cdef ValueId ask(
        self, ValueId value, vector[uint8_t]& text, TextId text_id, ActionId action
    ) except ID_FAILED with gil
    cdef TermId resolve(self, ValueId value, ResolverId resolver) except ID_FAILED nogil
    cdef TermId ask_resolver(self, ValueId value, ResolverId resolver) except ID_FAILED with gil
    cdef object part_of(self, object of, ValueId value)
    cdef TextId first_text(self, ValueId value, ActionId action) except ID_FAILED nogil
    cdef TextId first_told(self, ValueId value, int32_t test, int32_t most) except ID_FAILED nogil
    cdef TextId first_by_part(self, ValueId value, int32_t test, int32_t most) except ID_FAILED
    cdef int check_stand_in(self, ValueId value) except FAILED
    cdef ValueId stand_in(self, ValueId value) except ID_FAILED nogil
    cdef int owed(self, ValueId value, TextId text, Owed* out) except FAILED nogil
    cdef int ask_owed(self, ValueId value, TextId text, Owed* out) except FAILED with gil
    cdef tuple checked_owed(self, object answer)
    cdef int32_t enter_owed(self, bytes data) except ID_FAILED
    cdef int is_sure(self, ValueId value, TextId text) except FAILED nogil
    cdef bint begins_new(self, ValueId value, TextId text) except FAILED nogil
    cdef int ask_all(self, ValueId value, TextId text) except FAILED with gil
    cdef size_t nbytes(self) noexcept nogil
    cdef bytes first_of(self, vector[uint8_t]& text, ActionId action)
    cdef int32_t number_of(self, list table, str what, object entry) except FAILED
