# Steps down a trie: from a node by a byte to its child.
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memchr

from stackmask.pda.ids cimport NO_NODE, NodeId
from stackmask.pda.vocabulary.suffix_tries cimport Nodes


cdef inline NodeId child_of(const Nodes& n, NodeId node, uint8_t byte) noexcept nogil:
    # Return the child with this byte, or NO_NODE.
    cdef int32_t first = n.kid_first[node]
    cdef const uint8_t* found = <const uint8_t*>memchr(
        n.kid_byte + first, byte, n.kid_first[node + 1] - first
    )
    return NO_NODE if found == NULL else n.kid_node[first + (found - (n.kid_byte + first))]
