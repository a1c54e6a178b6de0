from libc.stdint cimport int32_t, uint8_t, uint16_t

from libcpp.vector cimport vector

from stackmask.pda.vocabulary.subtree_summary cimport SubtreeSummary
from stackmask.pda.vocabulary.character_groups cimport CharacterGroups
from stackmask.pda.vocabulary.token_bytes cimport TokenBytes


cdef class Trie:
    # nodes in depth-first order, children by ascending byte; node 0 is the root (the empty prefix)
    cdef bytes owner                    # of the block, which all pointers lie in
    cdef const uint8_t* data
    cdef readonly Py_ssize_t nbytes     # the size of the block
    cdef const uint8_t* byte            # the last byte of the node's prefix
    cdef const int32_t* depth           # bytes in the prefix
    cdef const int32_t* parent
    cdef const int32_t* end             # one past the last node of the subtree
    cdef const int32_t* token_first     # tokens[token_first[n]:token_first[n + 1]] are spelled by node n
    cdef const int32_t* tokens          # by node, then by ascending id
    # the children of node n: kid_node[kid_first[n]:kid_first[n + 1]], by ascending byte, and their bytes;
    # walks read these, since most children fail and should cost no more than their byte
    cdef vector[int32_t] kid_first
    cdef vector[int32_t] kid_node
    cdef vector[uint8_t] kid_byte
    # what the texts below a node are made of: below[summary_of[n]]; -1 where that is not kept
    cdef vector[int32_t] summary_of
    cdef vector[SubtreeSummary] below
    cdef vector[uint16_t] characters    # of the tokens, in their order here; a part of one counts
    cdef CharacterGroups kinds                    # the tokens by the kinds of their characters
    cdef readonly int32_t nodes
    cdef readonly int32_t token_count
    cdef readonly int32_t max_depth
    cdef object __weakref__

    cdef int lay_out(self) except -1
    cdef int link_kids(self) except -1 nogil
    cdef int is_trie_of(self, TokenBytes texts) except -1 nogil
