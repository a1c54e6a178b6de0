# Which characters occur in the subtrees of a trie. See subtree_summary.pyx.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport NodeId, SummaryId


cdef struct SubtreeSummary:
    # A subtree whose root ends a whole character, and under which only whole characters follow. The last
    # character of a token may be incomplete.
    uint64_t ascii[2]   # the ASCII characters that occur
    uint64_t leads      # the bytes from 0xC0 that occur: first bytes of longer characters
    int32_t nested      # sizes of all subtrees under the node that begin after a whole character, added up
    uint16_t characters     # from the root of the trie to the node
    uint16_t height         # the most characters that a token has after the node; an incomplete one counts


cdef int summarize_subtrees(
    int32_t nodes,
    int32_t max_depth,
    const int32_t* depth,
    const NodeId* end,
    const int32_t* token_first,
    const uint8_t* byte,
    vector[SummaryId]& summary_of,
    vector[SubtreeSummary]& summaries,
    vector[uint16_t]& characters,
    vector[NodeId]& incomplete,
) except -1 nogil
