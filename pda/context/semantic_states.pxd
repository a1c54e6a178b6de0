# Semantic states: what a configuration knows beyond its stack.
from libc.stdint cimport int32_t, uint64_t, uint8_t
from libcpp cimport bool
from libcpp.vector cimport vector

from stackmask.pda.context.callables cimport Callables, CaptureTexts, Owed, SemanticValues
from stackmask.pda.context.object_keys cimport KeyStates
from stackmask.pda.ids cimport (
    FAILED,
    ID_FAILED,
    ActionId,
    KeysId,
    ResolverId,
    SemId,
    SpecId,
    TermId,
    TestId,
    TextId,
    ValueId,
)
from stackmask.pda.memory.hash_tables cimport IdTable

# How keys of objects are written: which byte quotes a key, and how its characters may be spelled.
#
# The automaton distinguishes keys by their values, and finds their spellings in the tokens. A front end says
# how keys are written (``grammar.ir.KeySyntax``); nothing else of the automaton knows.

# write the value of a quoted key to the end of a vector; False if it is not one
ctypedef bint (*ReadKey)(const uint8_t*, size_t, vector[uint8_t]&) except FAILED nogil


cdef struct KeyText:
    bool known              # a front end has said how keys are written
    uint8_t quote           # before and after a key
    uint8_t escape          # begins another spelling of a character
    uint8_t least           # bytes below this one are always spelled with an escape
    ReadKey read


cdef inline bint is_plain(const KeyText& syntax, uint8_t byte) noexcept nogil:
    # whether a byte of a key is spelled by itself
    return byte != syntax.quote and byte != syntax.escape and byte >= syntax.least


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

    cdef SemId intern(self, SemId parent, ValueId value, KeysId keys, TextId text) except ID_FAILED nogil
    cdef bint is_unsure(self, SemId sem) noexcept nogil
    cdef SemId root(self, SemId sem) noexcept nogil
    cdef bint in_capture(self, SemId sem) noexcept nogil
    cdef SemId with_root(self, SemId sem, SemId root) except ID_FAILED nogil
    cdef SemId with_keys(self, SemId sem, KeysId keys) except ID_FAILED nogil
    cdef SemId stand_in(self, SemId sem, const int32_t* tests, size_t known) except ID_FAILED nogil
    cdef SemId append(self, SemId sem, uint8_t byte) except ID_FAILED nogil
    cdef SemId begin(self, SemId sem, ActionId action) except ID_FAILED nogil
    cdef SemId begin_key(self, SemId sem) except ID_FAILED nogil
    cdef SemId begin_unknown(self, SemId sem, ActionId action) except ID_FAILED nogil
    cdef bint keeps_bytes(self, SemId sem) noexcept nogil
    cdef SemId end(self, SemId sem, ActionId action) except ID_FAILED nogil
    cdef TermId resolve(self, SemId sem, ResolverId resolver) except ID_FAILED nogil
    cdef TermId bound_of(self, ResolverId resolver) noexcept nogil
    cdef SemId unsure(self, SemId sem) except ID_FAILED nogil
    cdef bint may_forbid(self, ActionId action) noexcept nogil
    cdef int is_sure(self, SemId sem) except FAILED nogil
    cdef bint is_callable(self, ActionId action) noexcept nogil
    cdef bint is_key(self, ActionId action) noexcept nogil
    cdef KeysId keys_at(self, SemId sem) noexcept nogil
    cdef SemId symbol_with(self, KeysId keys) except ID_FAILED nogil
    cdef SemId symbol_after_key(self, KeysId keys) except ID_FAILED nogil
    cdef bint may_be_key(self, SemId sem) noexcept nogil
    cdef int read_of_key(self, SemId sem, vector[uint8_t]& value) except ID_FAILED nogil
    cdef SemId enter(self, SemId sem, SpecId spec, bint is_walk) except ID_FAILED nogil
    cdef SemId test(self, SemId sem, TestId test) except ID_FAILED nogil
    cdef int lives(self, SemId sem, TermId term) except ID_FAILED nogil
    cdef TextId key_value(self, TextId text) except ID_FAILED nogil


cdef int owed_at(Semantics semantics, SemId sem, Owed* out) except FAILED nogil
