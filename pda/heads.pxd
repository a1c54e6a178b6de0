# States cut into heads and rests. See heads.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.growing cimport Growing
from stackmask.pda.keys cimport KeyStates
from stackmask.pda.terms cimport TermStore
from stackmask.pda.trie cimport Trie


cdef enum:
    NO_RUN_ITEM = -1


cdef struct Leaf:
    # one way on: a head, and what follows it, ``tail after``
    int32_t head
    int32_t tail
    int32_t after
    int32_t rest        # both as one state, or -1 while nothing asked for it
    int32_t live        # the way is there while this can go on with the keys of the object; EPS: always
    bint nullable       # what follows may be empty
    bint calm           # what follows can end without a restriction pending, as far as is known
    bint words          # the head is words only
    int32_t run         # NO_RUN_ITEM, or the head is low to high of these blanks, up to where the rest begins
    int32_t low
    int32_t high        # -1 without bound
    uint64_t first[4]   # bytes that it can begin with


cdef struct Cut:
    int32_t first       # leaves[first:first + count]; count is 0 where a state is not cut
    int32_t count       # or -1 while it is not known
    int32_t other       # what is left of the state besides, or EMPTY


cdef struct Piece:
    # scratch: what of a state is still to be cut, and what stands before it
    int32_t term
    int32_t after
    int32_t depth
    bint nullable
    bint ends
    bint words


cdef class Heads:
    cdef TermStore terms
    cdef KeyStates keys
    cdef Trie trie
    cdef int32_t[256] nodes_below   # byte -> nodes of the vocabulary that begin with it
    cdef Growing[Cut] cuts           # by term
    cdef Growing[Leaf] leaves
    cdef Growing[uint8_t] word_of    # by term: 0 unknown, 1 not a word, 2 a word
    # scratch
    cdef vector[Piece] parts
    cdef vector[int32_t] path
    cdef vector[int32_t] left
    cdef vector[Piece] ready        # ways on that were found, ``depth`` of ``texts`` before each
    cdef vector[int32_t] texts
    cdef vector[int32_t] spots      # nodes of the vocabulary
    cdef vector[int32_t] next_spots
    cdef int32_t tail

    cdef bint is_word(self, int32_t term) noexcept
    cdef Cut cut(self, int32_t state) except *
    cdef int find(self, int32_t state, Cut* found) except -1
    cdef int follow(self, Piece at) except -1
    cdef int find_blanks(self, int32_t state, Cut* found) except -1
    cdef bint add_first(self, int32_t state, uint64_t* words, int32_t* left) except -1
    cdef bint fill_path(self) except -1
    cdef int32_t filled(self, int32_t item) except -1
    cdef bint begins_few(self) except -1
    cdef bint ends_wide(self, bint words) noexcept
    cdef bint few_below(self) except -1
    cdef int spell(self, int32_t text) except -1
    cdef int add_leaf(self, Piece at) except -1
    cdef int32_t rest_of(self, int32_t leaf) except -1
    cdef bint is_calm(self, int32_t leaf) except -1
    cdef int refuse(self, int32_t state) except -1


cdef int first_of_word(TermStore terms, int32_t term, uint64_t* words) noexcept
