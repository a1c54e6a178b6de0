# States cut into heads and rests. See prefix_splitting.pyx.
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
    # one way on: a head, and what follows it, ``tail after``
    int32_t head        # a term, or the number of a word
    int32_t tail
    int32_t after
    int32_t continuation        # both as one state, or -1 while nothing asked for it
    int32_t test        # a question to the keys of the object that comes first, or NO_TEST
    int32_t live        # behind it, the way is there while this can go on with them; EPS: always
    int32_t needs       # ... which is a list of tests (see key_needs.pyx)
    int32_t action      # what happens behind the head: that of an undeclared key, or ACTION_NONE
    int32_t call        # ... and its call
    int32_t run         # NO_WHITESPACE, or the head is a loop of these blanks, up to where the rest begins
    uint8_t nullable    # what follows may be empty
    uint8_t unconditional        # what follows can end without a restriction pending, as far as is known
    uint8_t words       # the head is a word


cdef struct Cut:
    int32_t first       # leaves[first:first + count]; count is 0 where a state is not cut
    int32_t count
    int32_t other       # what is left of the state besides, or EMPTY


cdef struct Piece:
    # scratch: what of a state is still to be cut, and what stands before it
    int32_t term
    int32_t after
    int32_t depth
    int32_t first       # where its items begin in ``texts``
    bint nullable
    bint ends
    bint words
    int32_t test        # the test that stands before it, or EPS
    int32_t key         # the call of an undeclared key that is all of it, or EPS


cdef class PrefixSplitter(PrefixCost):
    cdef KeyStates keys
    cdef Semantics semantics
    cdef LiteralTable words
    cdef KeyMap cut_index           # term -> its place in ``cuts``
    cdef Growing[Cut] cuts
    cdef Growing[Alternative] alternatives
    # scratch
    cdef vector[Piece] parts        # what is still to be cut
    cdef vector[int32_t] left
    cdef vector[Piece] ready        # ways on that were found, ``depth`` of ``texts`` before each
    cdef vector[int32_t] texts
    cdef vector[Piece] lists       # ways on whose head is that of ``depth`` in ``ready``
    cdef int32_t tail

    cdef size_t nbytes(self) noexcept
    cdef int leave_whole(self, int32_t number) noexcept
    cdef int32_t cut(self, int32_t state) except -1
    cdef int find(self, int32_t state, Cut* found) except -1
    cdef int follow(self, Piece at) except -1
    cdef bint is_loop(self, Term loop) except -1
    cdef int unfold(self, Piece at, Term loop, int32_t next) except -1
    cdef bint is_key(self, Term call, int32_t next, int32_t after) except -1
    cdef int add_ready(self, Piece at) except -1
    cdef int join_continuations(self) except -1
    cdef int find_whitespace(self, int32_t state, Cut* found) except -1
    cdef bint fill_path(self) except -1
    cdef int32_t filled(self, int32_t item) except -1
    cdef int add_alternative(self, Piece at) except -1
    cdef int32_t continuation_of(self, int32_t alternative) except -1
    cdef int32_t key_of(self, int32_t alternative) except -1
    cdef bint is_unconditional(self, int32_t alternative) except -1
