# States split into prefixes and continuations. See prefix_splitting.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport AlternativeId, NeedsId, ReturnAction, SplitId, TermId, TestId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.masks.prefixes.prefix_cost cimport PrefixCost
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.terms.term_table cimport Term
from stackmask.pda.context.object_keys cimport KeyStates
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.masks.prefixes.literal_table cimport LiteralTable, Prefix


cdef enum:
    NO_WHITESPACE = -1


cdef struct Alternative:
    # One alternative of a state: a prefix and its continuation, the sequence ``tail after``.
    Prefix prefix
    TermId tail
    TermId after
    TermId continuation     # ``tail after`` as one state, or NO_TERM if not made
    TestId test             # a test of the object's keys that comes first, or NO_TEST
    TermId live             # a term that must be able to continue with these keys; EPS: always true
    NeedsId needs           # ... as a list of tests (see key_needs.pyx)
    ReturnAction action     # the action after the prefix if it is an undeclared key, or ACTION_NONE
    TermId call             # ... and the call of the key, or EPS
    TermId run              # NO_WHITESPACE; else the prefix is a repetition of this set of blanks
    uint8_t nullable        # the continuation may be empty
    uint8_t unconditional   # the continuation surely can end with no follow restriction pending


cdef struct Split:
    int32_t first   # alternatives[first:first + count]; count is 0 if the state is not split
    int32_t count
    TermId other    # the alternatives that are not split, as one term, or EMPTY


cdef struct PartialSplit:
    # scratch: a term that must still be split, and the prefix before it
    TermId term
    TermId after        # what follows the term
    int32_t depth       # items of its prefix
    int32_t joins       # in ``same_prefix``: the index in ``ready`` of the alternative with the same prefix
    int32_t first       # where the items of its prefix begin in ``prefix_items``
    bint nullable       # all items so far can be empty
    bint ends           # the prefix has an end of its own: a literal or a rule
    bint is_literal     # all items so far are literals
    TermId test         # the test that comes before it, or EPS
    TermId key          # the call of an undeclared key that is the whole prefix, or EPS


cdef class PrefixSplitter:
    cdef TermStore terms
    cdef PrefixCost cost
    cdef KeyStates keys
    cdef Semantics semantics
    cdef LiteralTable literals
    cdef KeyMap split_index     # term -> index in ``splits``
    cdef Growing[Split] splits
    cdef Growing[Alternative] alternatives
    # scratch
    cdef vector[PartialSplit] todo          # terms that must still be split
    cdef vector[TermId] left
    cdef vector[PartialSplit] ready         # the alternatives found; ``depth``: items of the prefix
    cdef vector[TermId] prefix_items
    cdef vector[PartialSplit] same_prefix   # more alternatives; their prefix is that of ready[joins]
    cdef TermId tail

    cdef size_t nbytes(self) noexcept nogil
    cdef int leave_whole(self, SplitId number) noexcept nogil
    cdef SplitId split(self, TermId state) except -1 nogil
    cdef int find(self, TermId state, Split* found) except -1 nogil
    cdef int follow(self, PartialSplit at) except -1 nogil
    cdef bint is_loop(self, Term loop) except -1 nogil
    cdef int unfold(self, PartialSplit at, Term loop, TermId next) except -1 nogil
    cdef bint is_key(self, Term call, TermId next, TermId after) except -1 nogil
    cdef int add_ready(self, PartialSplit at) except -1 nogil
    cdef int join_continuations(self) except -1 nogil
    cdef int find_whitespace(self, TermId state, Split* found) except -1 nogil
    cdef bint fill_path(self) except -1 nogil
    cdef TermId filled(self, TermId item) except -1 nogil
    cdef int add_alternative(self, PartialSplit at) except -1 nogil
    cdef TermId continuation_of(self, AlternativeId alternative) except -1 nogil
    cdef TermId key_of(self, AlternativeId alternative) except -1 nogil
    cdef bint is_unconditional(self, AlternativeId alternative) except -1 nogil
