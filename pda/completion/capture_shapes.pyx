# distutils: language = c++
"""Configurations that differ only in captured texts, as one shape.

Inside of a capture each byte leads to another configuration, since what was captured is a part of it. What
is left to write hardly depends on it. A shape has the local states, the frames and the semantic state
without the captured texts and the undeclared keys of the object, and stands for all configurations that have
these. The first one that was met says where bytes lead and what is needed. That is no proof for the others,
whose text may be one that is forbidden.
"""

cimport cython
from libc.stdint cimport uint32_t

from stackmask.pda.context.object_keys cimport KEYS_UNKNOWN
from stackmask.pda.ids cimport KeysId, SemId
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put, map_reset, mix
from stackmask.pda.stack.configuration_draft cimport Member
from stackmask.pda.stack.configuration_table cimport DEAD

cdef enum:
    NOT_STEPPED = -2


@cython.final
cdef class CaptureShapes:
    """The shapes of one family. Hold the lock of the store to use it."""

    def __cinit__(self, ConfigSpace family not None, Semantics semantics not None):
        self.family = family
        self.semantics = semantics
        map_init(&self.index)

    def __dealloc__(self):
        map_free(&self.index)

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes are held."""
        return 4 * (self.steps.capacity() + self.configs.capacity()) + 12 * self.index.mask

    cdef int forget(self) except -1 nogil:
        """Forget all shapes."""
        map_reset(&self.index)
        self.configs.clear()
        self.steps.clear()
        return 0

    cdef uint64_t hash_of(self, ConfigId config) except * nogil:
        """Return a hash of all that a shape has."""
        cdef int32_t i, first = self.family.configs[config].first, count = self.family.configs[config].count
        cdef uint64_t h = mix(73, <uint32_t>self.family.configs[config].accepting)
        cdef Member m
        cdef SemId sem
        cdef KeysId keys
        self.family.terms.meter.spend(2 * count)
        for i in range(first, first + count):
            m = self.family.members[i]
            h = mix(mix(h, <uint32_t>m.state), <uint32_t>m.frame)
            sem = m.sem
            while self.semantics.in_capture(sem):
                sem = self.semantics.sems[sem].parent
                h = mix(h, 1)
            keys = self.semantics.sems[sem].keys
            if keys > KEYS_UNKNOWN:
                keys = self.semantics.keys.view(keys)
            h = mix(mix(h, <uint32_t>self.semantics.sems[sem].value), <uint32_t>keys)
        return h

    cdef int32_t shape_of(self, ConfigId config) except -3 nogil:
        """Return the shape of a configuration, a new one if it has none."""
        cdef uint64_t h = self.hash_of(config)
        cdef int32_t shape = map_get(&self.index, h)
        if shape == NO_VALUE:
            shape = <int32_t>self.configs.size()
            self.steps.resize(self.steps.size() + 256, NOT_STEPPED)
            self.configs.push_back(config)
            map_put(&self.index, h, shape)
        return shape

    cdef int32_t after(self, int32_t shape, uint8_t byte, int64_t* effort, int64_t price) except -3 nogil:
        """Return the shape after a byte, or NO_SHAPE. A step that was not taken before costs ``price``."""
        cdef size_t at = 256 * <size_t>shape + byte
        cdef ConfigId next
        if self.steps[at] == NOT_STEPPED:
            effort[0] -= price
            next = self.family.step(self.configs[shape], byte)
            shape = NO_SHAPE if next <= DEAD else self.shape_of(next)
            self.steps[at] = shape
        return self.steps[at]

    cdef bint collect(
        self, Trie trie, int32_t shape, vector[Successor]& out, int64_t* effort, int64_t price
    ) except -1 nogil:
        """List tokens and where they lead: to the configuration of a shape. False if ``effort`` ran out.

        Cost: a look-up for each node of the trie that is alive, and for each step between shapes ``price``.
        """
        cdef ShapeVisit at, below
        cdef size_t next = 0
        cdef int32_t kid, t
        cdef Successor found
        out.clear()
        self.visits.clear()
        at.node = 0
        at.shape = shape
        self.visits.push_back(at)
        while next < self.visits.size():
            at = self.visits[next]
            next += 1
            self.family.terms.meter.spend(2 + trie.kid_first[at.node + 1] - trie.kid_first[at.node])
            if effort[0] <= 0:
                return False
            for kid in range(trie.kid_first[at.node], trie.kid_first[at.node + 1]):
                below.shape = self.after(at.shape, trie.kid_byte[kid], effort, price)
                if below.shape == NO_SHAPE:
                    continue
                effort[0] -= 1
                below.node = trie.kid_node[kid]
                found.next = self.configs[below.shape]
                for t in range(trie.token_first[below.node], trie.token_first[below.node + 1]):
                    found.token = trie.tokens[t]
                    out.push_back(found)
                if trie.kid_first[below.node] < trie.kid_first[below.node + 1]:
                    self.visits.push_back(below)
        return True
