# Tokens across the end of a text. See boundary_tokens.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport ConfigId, NodeId, TokenId
from stackmask.pda.vocabulary.token_trie cimport Trie


cdef class Crossings:
    cdef Trie trie                      # of the vocabulary
    cdef NodeId[256] root_child         # byte -> child of the trie's root, or NO_NODE
    cdef vector[TokenId] found          # scratch: tokens

    cdef ConfigId follow(self, ConfigId config, uint8_t byte) except -1 nogil
    cdef int set_trie(self, Trie trie) except -1
    cdef NodeId child_of(self, NodeId node, uint8_t byte) noexcept nogil
    cdef int collect(self, NodeId node, ConfigId config, size_t most) except -1 nogil
