# States split into prefixes and continuations. See prefix_splitting.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.masks.prefixes.prefix_cost cimport PrefixCost
from stackmask.pda.terms.term_table cimport Term
from stackmask.pda.context.object_keys cimport KeyStates
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.masks.prefixes.literal_table cimport LiteralTable


cdef enum:
    NO_WHITESPACE = -1
    NO_TEST = -1


cdef struct Alternative:
    # One alternative of a state: a prefix and its continuation, the sequence ``tail after``.
    int32_t prefix          # the prefix: a term, or the number of a literal
    int32_t tail
    int32_t after
    int32_t continuation    # ``tail after`` as one state, or -1 if not made
    int32_t test            # a test of the object's keys that comes first, or NO_TEST
    int32_t live            # a term that must be able to continue with these keys; EPS: always true
    int32_t needs           # ... as a list of tests (see key_needs.pyx)
    int32_t action          # the action after the prefix if it is an undeclared key, or ACTION_NONE
    int32_t call            # ... and the call of the key, or EPS
    int32_t run             # NO_WHITESPACE; else the prefix is a repetition of this set of blanks
    uint8_t nullable        # the continuation may be empty
    uint8_t unconditional   # the continuation surely can end with no follow restriction pending
    uint8_t is_literal      # the prefix is a literal


cdef struct Split:
    int32_t first   # alternatives[first:first + count]; count is 0 if the state is not split
    int32_t count
    int32_t other   # the alternatives that are not split, as one term, or EMPTY


cdef struct PartialSplit:
    # scratch: a term that must still be split, and the prefix before it
    int32_t term
    int32_t after       # what follows the term
    int32_t depth       # items of its prefix
    int32_t first       # where the items of its prefix begin in ``prefix_items``
    bint nullable       # all items so far can be empty
    bint ends           # the prefix has an end of its own: a literal or a rule
    bint is_literal     # all items so far are literals
    int32_t test        # the test that comes before it, or EPS
    int32_t key         # the call of an undeclared key that is the whole prefix, or EPS


cdef class PrefixSplitter(PrefixCost):
    cdef KeyStates keys
    cdef Semantics semantics
    cdef LiteralTable literals
    cdef KeyMap split_index     # term -> index in ``splits``
    cdef Growing[Split] splits
    cdef Growing[Alternative] alternatives
    # scratch
    cdef vector[PartialSplit] todo          # terms that must still be split
    cdef vector[int32_t] left
    cdef vector[PartialSplit] ready         # the alternatives found; ``depth``: items of the prefix
    cdef vector[int32_t] prefix_items
    cdef vector[PartialSplit] same_prefix   # more alternatives; their prefix is that of ready[depth]
    cdef int32_t tail

    cdef size_t nbytes(self) noexcept
    cdef int leave_whole(self, int32_t number) noexcept
    cdef int32_t split(self, int32_t state) except -1
    cdef int find(self, int32_t state, Split* found) except -1
    cdef int follow(self, PartialSplit at) except -1
    cdef bint is_loop(self, Term loop) except -1
    cdef int unfold(self, PartialSplit at, Term loop, int32_t next) except -1
    cdef bint is_key(self, Term call, int32_t next, int32_t after) except -1
    cdef int add_ready(self, PartialSplit at) except -1
    cdef int join_continuations(self) except -1
    cdef int find_whitespace(self, int32_t state, Split* found) except -1
    cdef bint fill_path(self) except -1
    cdef int32_t filled(self, int32_t item) except -1
    cdef int add_alternative(self, PartialSplit at) except -1
    cdef int32_t continuation_of(self, int32_t alternative) except -1
    cdef int32_t key_of(self, int32_t alternative) except -1
    cdef bint is_unconditional(self, int32_t alternative) except -1
