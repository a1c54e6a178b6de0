from libc.stdint cimport int16_t, int32_t, uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED, GroupId, NodeId, SummaryId, TokenId
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes

# Which characters occur in the subtrees of a trie.

cdef struct SubtreeSummary:
    # A subtree whose root ends a whole character, and under which only whole characters follow. The last
    # character of a token may be incomplete.
    uint64_t ascii[2]   # the ASCII characters that occur
    uint64_t leads      # the bytes from 0xC0 that occur: first bytes of longer characters
    int32_t nested      # sizes of all subtrees under the node that begin after a whole character, added up
    uint16_t characters     # from the root of the trie to the node
    uint16_t height         # the most characters that a token has after the node; an incomplete one counts


cdef struct ClassSorts:
    # Which sorts of bytes belong to a prefix code X: sets of sorts, as bits. A string of X is characters of
    # X.
    uint64_t inside     # each byte of the sort is a character of X, or X has all characters it begins
    uint64_t outside    # no byte of the sort occurs in a string of X
    uint64_t begins     # some bytes of the sort can begin a character of X
    uint64_t opens      # ... but not every character that they begin is in X


cdef inline bint may_be_run(ClassSorts sorts, uint64_t group) noexcept nogil:
    # Return whether tokens of these sorts may be runs of X. Bytes that occur only inside of characters of X
    # need a sort that begins one.
    return not group & sorts.outside and (group & sorts.opens or not group & ~sorts.begins)


cdef class CharacterGroups:
    cdef TokenBytes token_bytes
    # The tokens of group g are tokens[first[g]:first[g + 1]], by ascending `characters`. All have the same
    # sorts.
    cdef vector[uint64_t] sorts_of      # group -> sorts, as bits
    cdef vector[int32_t] first
    cdef vector[TokenId] tokens
    cdef vector[uint16_t] characters    # of each of these tokens; an incomplete one counts
    cdef vector[int32_t] ends           # n * groups + group -> end of its tokens with at most n characters
    cdef vector[uint32_t] row           # all tokens, as a bitmask
    # The nodes with byte b are nodes[node_first[b]:node_first[b + 1]]; none are kept for frequent bytes.
    cdef int32_t[257] node_first
    cdef vector[NodeId] nodes
    cdef uint64_t[4] frequent           # the bytes whose nodes are not kept

    cdef int find(
        self,
        int32_t nodes,
        const int32_t* depth,
        const int32_t* token_first,
        const TokenId* tokens,
        const uint8_t* byte,
        int32_t max_depth,
        const uint16_t* characters,
    ) except FAILED nogil
    cdef int find_ends(self) except FAILED nogil
    cdef int find_nodes(self, int32_t nodes, const uint8_t* byte) except FAILED nogil
    cdef int sort_tokens(
        self, const TokenId* tokens, const uint16_t* characters, vector[GroupId]& group_of
    ) except FAILED nogil
    cdef int compare_sorts(
        self,
        const int16_t* table,
        int32_t states,
        const uint64_t* used,
        const uint64_t* single,
        uint64_t leads,
        ClassSorts* found,
    ) except FAILED nogil
    cdef bint is_utf8(self, const int16_t* table, int32_t states) except FAILED nogil
    cdef int32_t needed(self, TokenId token, const int16_t* table) noexcept nogil
    cdef int32_t up_to(self, GroupId group, int32_t high) noexcept nogil

    cdef inline bint is_frequent(self, int32_t byte) noexcept nogil:
        return (self.frequent[byte >> 6] >> (byte & 63)) & 1


cdef class Trie:
    # The nodes are in depth-first order, children by ascending byte. Node 0 is the root (the empty path).
    cdef bytes owner                    # the memory that all pointers point into
    cdef const uint8_t* data
    cdef readonly Py_ssize_t nbytes     # bytes of the block
    cdef const uint8_t* byte            # the last byte of the path to the node
    cdef const int32_t* depth           # bytes of the path
    cdef const NodeId* parent
    cdef const NodeId* end              # one past the last node of the subtree
    cdef const int32_t* token_first     # node n has the tokens tokens[token_first[n]:token_first[n + 1]]
    cdef const TokenId* tokens          # by node, then by ascending id
    # The children of node n are kid_node[kid_first[n]:kid_first[n + 1]], by ascending byte; kid_byte has
    # their bytes. Walks read these arrays: most children fail, and then only their byte is loaded.
    cdef vector[int32_t] kid_first
    cdef vector[NodeId] kid_node
    cdef vector[uint8_t] kid_byte
    # The summary of the subtree of node n is summaries[summary_of[n]]; NO_SUMMARY where none is kept.
    cdef vector[SummaryId] summary_of
    cdef vector[SubtreeSummary] summaries
    cdef vector[uint16_t] characters    # of each token, in the order of `tokens`; an incomplete one counts
    cdef vector[NodeId] incomplete      # nodes whose tokens end inside of a character, ascending
    cdef CharacterGroups character_groups      # the tokens by the sorts of their characters
    cdef readonly int32_t nodes
    cdef readonly int32_t token_count
    cdef readonly int32_t max_depth
    cdef object __weakref__

    cdef int lay_out(self) except FAILED
    cdef int link_kids(self) except FAILED nogil
