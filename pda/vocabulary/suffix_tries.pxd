# Tries of the suffixes of tokens.
from libc.stdint cimport int32_t, uint64_t, uint8_t
from libc.string cimport memchr
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, ID_FAILED, NO_NODE, NodeId, PlaceId, TokenId
from stackmask.pda.memory.growing_array cimport Growing
from stackmask.pda.memory.hash_tables cimport IdTable
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef struct Nodes:
    # the arrays of a trie, in depth-first order; see token_trie.pxd
    const uint8_t* byte
    const int32_t* depth
    const NodeId* end
    const int32_t* token_first
    const TokenId* tokens
    const int32_t* kid_first
    const NodeId* kid_node
    const uint8_t* kid_byte

cdef enum:
    # a place (a trie position) is node << 3, and these bits
    IN_SUFFIX_TRIE = 1   # the node is in a suffix trie, not in the trie of the vocabulary
    INCLUSIVE = 2   # the suffix begins with the node's own byte; else after it
    ALL_UNDER = 4   # also the suffixes after each whole character under the node; only in the vocabulary


cdef inline NodeId node_at(PlaceId place) noexcept nogil:
    return <NodeId>(<int32_t>place >> 3)


cdef inline PlaceId place_at(NodeId node, int32_t bits) noexcept nogil:
    return <PlaceId>((<int32_t>node << 3) | bits)


cdef inline int32_t trie_of(PlaceId place) noexcept nogil:
    # IN_SUFFIX_TRIE, or 0: the trie of the vocabulary
    return <int32_t>place & IN_SUFFIX_TRIE


cdef inline bint is_inclusive(PlaceId place) noexcept nogil:
    return (<int32_t>place & INCLUSIVE) != 0


cdef inline bint is_deep(PlaceId place) noexcept nogil:
    # Return whether the place stands for all nodes under it too; their first bytes are summaries of the trie.
    return (<int32_t>place & ALL_UNDER) != 0


cdef class SuffixTries:
    cdef Trie trie
    cdef Growing[uint8_t] byte
    cdef Growing[int32_t] depth
    cdef Growing[NodeId] end
    cdef Growing[int32_t] token_first   # one item more than there are nodes
    cdef Growing[TokenId] tokens
    cdef Growing[int32_t] kid_first     # one item more than there are nodes
    cdef Growing[NodeId] kid_node
    cdef Growing[uint8_t] kid_byte
    cdef int32_t max_depth
    cdef Growing[uint8_t] twice         # node -> whether some token is at several nodes of its trie
    cdef Growing[NodeId] stamp          # token -> the root of the last trie that has it
    cdef IdTable root_index

    cdef Nodes nodes(self, PlaceId place) noexcept nogil
    cdef int32_t size_of(self, PlaceId place) noexcept nogil
    cdef int add_children(self, PlaceId place, int32_t level, vector[uint64_t]& out) except FAILED nogil
    cdef NodeId add_node(self, uint8_t byte, int32_t depth) except ID_FAILED nogil
    cdef PlaceId subtrees(self, vector[NodeId]& nodes) except ID_FAILED nogil
    cdef int link_kids(self, NodeId root) except FAILED nogil
    cdef int flag_repeats(self, NodeId root) except FAILED nogil
    cdef NodeId intern(self, NodeId root) except ID_FAILED nogil
    cdef int copy_subtree(self, PlaceId place, NodeId node) except FAILED nogil
    cdef PlaceId merge(self, vector[PlaceId]& places) except ID_FAILED nogil


# Steps down a trie: from a node by a byte to its child.

cdef inline NodeId child_of(const Nodes& n, NodeId node, uint8_t byte) noexcept nogil:
    # Return the child with this byte, or NO_NODE.
    cdef int32_t first = n.kid_first[node]
    cdef const uint8_t* found = <const uint8_t*>memchr(
        n.kid_byte + first, byte, n.kid_first[node + 1] - first
    )
    return NO_NODE if found == NULL else n.kid_node[first + (found - (n.kid_byte + first))]
