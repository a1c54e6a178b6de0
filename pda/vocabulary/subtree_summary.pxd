# What the texts below the nodes of a trie are made of. See subtree_summary.pyx.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libcpp.vector cimport vector


cdef struct SubtreeSummary:
    # what is below a node where whole characters end, and only whole characters follow, the last perhaps cut
    uint64_t ascii[2]       # the ASCII characters
    uint64_t leads          # the bytes from 0xC0, which longer characters begin with
    int32_t characters      # from the root to the node
    int32_t nested          # nodes below the nodes below it that whole characters end at, all added up
    int32_t height          # from the node to the end of the token with the most; a part of one counts


cdef int look_below(
    int32_t nodes,
    const int32_t* parent,
    const int32_t* end,
    const int32_t* token_first,
    const uint8_t* byte,
    vector[int32_t]& summary_of,
    vector[SubtreeSummary]& below,
    vector[uint16_t]& characters,
) except -1 nogil
