# Configurations that differ only in captured texts, as one. See capture_shapes.pyx.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.completion.completions cimport Successor
from stackmask.pda.context.semantic_states cimport Semantics
from stackmask.pda.ids cimport ConfigId, NodeId
from stackmask.pda.memory.hash_tables cimport KeyMap
from stackmask.pda.stack.configurations cimport ConfigSpace
from stackmask.pda.vocabulary.token_trie cimport Trie

cdef enum:
    NO_SHAPE = -1           # nothing comes after a byte


cdef struct ShapeVisit:
    NodeId node
    int32_t shape


cdef class CaptureShapes:
    # owner: BudgetMasks
    cdef ConfigSpace family
    cdef Semantics semantics
    cdef KeyMap index                   # hash of what a shape has -> shape
    cdef vector[ConfigId] configs       # by shape: the first configuration that was met
    cdef vector[int32_t] steps          # by shape and byte: the shape after it, NO_SHAPE or NOT_STEPPED
    cdef vector[ShapeVisit] visits

    cdef uint64_t hash_of(self, ConfigId config) except * nogil
    cdef int32_t shape_of(self, ConfigId config) except -3 nogil
    cdef int32_t after(self, int32_t shape, uint8_t byte, int64_t* effort, int64_t price) except -3 nogil
    cdef bint collect(
        self, Trie trie, int32_t shape, vector[Successor]& out, int64_t* effort, int64_t price
    ) except -1 nogil
    cdef int forget(self) except -1 nogil
    cdef size_t nbytes(self) noexcept nogil
