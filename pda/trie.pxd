from libc.stdint cimport int32_t, uint8_t
from libcpp.vector cimport vector


cdef class Trie:
    # nodes in depth-first order; node 0 is the root (the empty prefix)
    cdef vector[uint8_t] byte           # the last byte of the node's prefix
    cdef vector[int32_t] depth          # bytes in the prefix
    cdef vector[int32_t] parent
    cdef vector[int32_t] end            # one past the last node of the subtree
    cdef vector[int32_t] token_first    # tokens[token_first[n]:token_first[n + 1]] are spelled by node n
    cdef vector[int32_t] tokens
    cdef readonly int32_t max_depth
