# distutils: language = c++
"""Sets of texts, such as the undeclared keys that an object has: immutable and hash-consed.

Source: sets are Patricia trees (Okasaki and Gill, "Fast Mergeable Integer Maps", 1998), which have one form
per set.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t

from stackmask.pda.memory.hash_tables cimport Probe, ids_free, ids_init, ids_next, ids_probe, ids_put, mix

cdef enum:
    NO_TREE = -1


@cython.final
cdef class TextSets:
    """The sets of texts of one store, by number.

    Invariant: append-only; equal sets are one number.
    """

    def __cinit__(self):
        cdef TextNode empty
        ids_init(&self.index)
        empty.prefix = empty.bit = 0
        empty.low = empty.high = NO_TREE
        self.nodes.push_back(empty)

    def __dealloc__(self):
        ids_free(&self.index)

    cdef TextNodeId node(
        self, uint32_t prefix, uint32_t bit, TextNodeId low, TextNodeId high
    ) except -1 nogil:
        cdef uint64_t h = mix(mix(mix(mix(53, prefix), bit), <uint32_t>low), <uint32_t>high)
        cdef Probe probe = ids_probe(&self.index, h)
        cdef TextNodeId id = ids_next(&self.index, &probe)
        cdef TextNode* other
        cdef TextNode node
        while id >= 0:
            other = &self.nodes[id]
            if other.prefix == prefix and other.bit == bit and other.low == low and other.high == high:
                return id
            id = ids_next(&self.index, &probe)
        node.prefix = prefix
        node.bit = bit
        node.low = low
        node.high = high
        id = <int32_t>self.nodes.size()
        self.nodes.push_back(node)
        ids_put(&self.index, &probe, id)
        return id

    cdef bint has(self, TextNodeId node, uint32_t text) noexcept nogil:
        cdef TextNode n
        while node != EMPTY_SET:
            n = self.nodes[node]
            if not n.bit:
                return n.prefix == text
            node = n.high if text & n.bit else n.low
        return False

    cdef TextNodeId adding(self, TextNodeId node, uint32_t text) except -1 nogil:
        """Return the set with one more text. Cost: the depth of the tree, at most 32."""
        cdef TextNodeId path[33]
        cdef TextNodeId root, made
        cdef int32_t depth = 0
        cdef uint32_t differs
        cdef TextNode n
        if node == EMPTY_SET:
            return self.node(text, 0, NO_TREE, NO_TREE)
        root = node
        while True:
            n = self.nodes[node]
            differs = n.prefix ^ text
            if n.bit:
                differs &= n.bit - 1
            if differs or not n.bit:
                break
            path[depth] = node
            depth += 1
            node = n.high if text & n.bit else n.low
        if not differs:
            return root
        differs &= ~differs + 1
        made = self.node(text, 0, NO_TREE, NO_TREE)
        if text & differs:  # mutant: set-side
            made = self.node(text & (differs - 1), differs, node, made)
        else:
            made = self.node(text & (differs - 1), differs, made, node)
        while depth:
            depth -= 1
            n = self.nodes[path[depth]]
            if text & n.bit:
                made = self.node(n.prefix, n.bit, n.low, made)
            else:
                made = self.node(n.prefix, n.bit, made, n.high)
        return made

    cdef int list_texts(self, TextNodeId node, vector[TextId]& out) except -1 nogil:
        """Append the texts of a set."""
        cdef vector[TextNodeId] todo
        cdef TextNode n
        if node <= EMPTY_SET:
            return 0
        todo.push_back(node)
        while not todo.empty():
            n = self.nodes[todo.back()]
            todo.pop_back()
            if n.bit:
                todo.push_back(n.low)
                todo.push_back(n.high)
            else:
                out.push_back(<int32_t>n.prefix)
        return 0

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the sets take."""
        return sizeof(TextNode) * self.nodes.size() + 8 * self.index.mask
