# Sets of captured texts. See text_sets.pyx.
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport TextId, TextNodeId
from stackmask.pda.memory.hash_tables cimport IdTable

cdef enum:
    EMPTY_SET = 0


cdef struct TextNode:
    # a set of texts as a little-endian Patricia tree: a leaf (bit = 0), or two trees that differ in one bit
    uint32_t prefix     # the bits below `bit` that all texts share; of a leaf, the text
    uint32_t bit
    TextNodeId low      # texts without the bit
    TextNodeId high     # texts with it


cdef class TextSets:
    cdef vector[TextNode] nodes         # 0 is the empty set
    cdef IdTable index

    cdef bint has(self, TextNodeId node, uint32_t text) noexcept nogil
    cdef TextNodeId adding(self, TextNodeId node, uint32_t text) except -1 nogil
    cdef int list_texts(self, TextNodeId node, vector[TextId]& out) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil

    cdef TextNodeId node(self, uint32_t prefix, uint32_t bit, TextNodeId low, TextNodeId high) except -1 nogil
