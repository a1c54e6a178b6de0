# Tries of the suffixes of tokens. See suffix_tries.pyx.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.vocabulary.token_trie cimport Trie

cdef struct Nodes:
    # the arrays of a trie, in depth-first order; see token_trie.pxd
    const uint8_t* byte
    const int32_t* depth
    const int32_t* end
    const int32_t* token_first
    const int32_t* tokens
    const int32_t* kid_first
    const int32_t* kid_node
    const uint8_t* kid_byte

cdef enum:
    # a place (a trie position) is node << 2, and these bits
    IN_SUFFIX_TRIE = 1   # the node is in a suffix trie, not in the trie of the vocabulary
    INCLUSIVE = 2   # the suffix begins with the node's own byte; else after it

cdef class SuffixTries:
    cdef Trie trie
    cdef Growing[uint8_t] byte
    cdef Growing[int32_t] depth
    cdef Growing[int32_t] end
    cdef Growing[int32_t] token_first   # one item more than there are nodes
    cdef Growing[int32_t] tokens
    cdef Growing[int32_t] kid_first     # one item more than there are nodes
    cdef Growing[int32_t] kid_node
    cdef Growing[uint8_t] kid_byte
    cdef int32_t max_depth
    cdef Growing[uint8_t] twice         # node -> whether some token is at several nodes of its trie
    cdef Growing[int32_t] stamp         # token -> the root of the last trie that has it
    cdef IdTable root_index

    cdef Nodes nodes(self, int32_t place) noexcept
    cdef int32_t size_of(self, int32_t place) noexcept
    cdef int add_children(self, int32_t place, int32_t level, vector[uint64_t]& out) except -1
    cdef int32_t add_node(self, uint8_t byte, int32_t depth) except -1
    cdef int32_t subtrees(self, vector[int32_t]& nodes) except -1
    cdef int link_kids(self, int32_t root) except -1
    cdef int flag_repeats(self, int32_t root) except -1
    cdef int32_t intern(self, int32_t root) except -1
    cdef int copy_subtree(self, int32_t place, int32_t node) except -1
    cdef int32_t merge(self, vector[int32_t]& places) except -1
