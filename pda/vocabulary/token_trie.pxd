from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from libcpp.vector cimport vector

from stackmask.pda.ids cimport NodeId, SummaryId, TokenId
from stackmask.pda.vocabulary.subtree_summary cimport SubtreeSummary
from stackmask.pda.vocabulary.character_groups cimport CharacterGroups
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes


cdef class TokenOrder:
    cdef TokenBytes token_bytes
    cdef bytes owner                    # the memory of `ids`, or None if they were sorted here
    cdef vector[TokenId] sorted_ids
    cdef const TokenId* ids
    cdef size_t count
    cdef vector[int32_t] shared         # the first bytes that each token has in common with the one before it
    cdef int64_t nodes                  # of the trie


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

    cdef int lay_out(self) except -1
    cdef int link_kids(self) except -1 nogil
