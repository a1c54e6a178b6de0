# Tokens across the end of a text. See boundary_tokens.pyx.
from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.vocabulary.token_trie cimport Trie


cdef class Crossings:
    cdef Trie trie                      # of the vocabulary
    cdef int32_t[256] root_child        # byte -> child of the trie's root, or -1
    cdef vector[int32_t] found          # scratch: tokens

    cdef int32_t follow(self, int32_t config, uint8_t byte) except -1
    cdef int set_trie(self, Trie trie) except -1
    cdef int32_t child_of(self, int32_t node, uint8_t byte) noexcept
    cdef int collect(self, int32_t node, int32_t config, size_t most) except -1
