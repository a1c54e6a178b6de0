# Steps down a trie: from a node by a byte to its child.
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memchr

from stackmask.pda.vocabulary.suffix_tries cimport Nodes


cdef inline int32_t child_of(const Nodes& n, int32_t node, uint8_t byte) noexcept:
    # Return the child with this byte, or -1.
    cdef int32_t first = n.kid_first[node]
    cdef const uint8_t* found = <const uint8_t*>memchr(
        n.kid_byte + first, byte, n.kid_first[node + 1] - first
    )
    return -1 if found == NULL else n.kid_node[first + (found - (n.kid_byte + first))]
