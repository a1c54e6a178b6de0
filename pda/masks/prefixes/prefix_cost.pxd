# What a prefix costs in a vocabulary. See prefix_cost.pyx.
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport NodeId, TermId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.terms.term_store cimport TermStore
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef enum:
    MOST_LOOKS = 1024   # terms looked at to find the first bytes of a state


cdef class PrefixCost:
    cdef TermStore terms
    cdef Trie trie
    cdef int32_t[256] nodes_after       # byte -> nodes of the trie whose path begins with it
    cdef Growing[uint8_t] literal_of    # by term: 0 unknown, 1 no literal, 2 a literal
    # scratch
    cdef vector[TermId] path            # the items of a prefix
    cdef vector[NodeId] spots           # nodes of the trie
    cdef vector[NodeId] next_spots

    cdef bint is_literal(self, TermId term) except -1 nogil
    cdef bint add_first(self, TermId state, uint64_t* words, int32_t* left) except -1 nogil
    cdef bint begins_few(self) except -1 nogil
    cdef bint few_begin(self, const uint64_t* words) noexcept nogil
    cdef bint ends_wide(self, bint words) noexcept nogil
    cdef bint few_follow(self) except -1 nogil
    cdef int spell_byte(self, NodeId node, int32_t byte) except -1 nogil
    cdef int spell(self, TermId string) except -1 nogil


cdef int first_bytes_of_literal(TermStore terms, TermId term, uint64_t* words) noexcept nogil
