# distutils: language = c++
"""The values of semantic states: Python objects, stacks of strings, and the symbol of mask walks."""

cimport cython
from libc.stdint cimport uint64_t

from stackmask.pda.ids cimport NO_PARENT
from stackmask.pda.memory.hash_tables cimport NO_VALUE, map_free, map_get, map_init, map_put

cdef enum:
    VALUE_BYTES = 400   # a small Python object and its place in a dict


@cython.final
cdef class SemanticValues:
    """The values of one store, by number.

    Invariant: append-only; equal values are one number.
    """

    def __cinit__(self):
        map_init(&self.links)
        self.objects = []
        self.index = {}

    def __dealloc__(self):
        map_free(&self.links)

    cdef ValueId add(
        self, object value, int32_t kind, ValueId parent, TextId text, bint symbolic
    ) except -1 nogil:
        with gil:
            self.objects.append(value)
        self.kind.push_back(kind)
        self.parent.push_back(parent)
        self.text.push_back(text)
        self.symbolic.push_back(symbolic)
        self.unsure.push_back(0)
        if parent != NO_PARENT:
            self.unsure[self.unsure.size() - 1] = self.unsure[parent]
        return <int32_t>self.kind.size() - 1

    cdef ValueId value_of(self, object value) except -1:
        found = self.index.get(value)
        if found is None:
            found = self.add(value, VALUE_OBJECT, NO_PARENT, 0, False)
            self.index[value] = found
            self.indexed += 1
        return found

    cdef ValueId link(self, ValueId parent, TextId text) except -1 nogil:
        """Return the stack of strings with one more string on it."""
        cdef uint64_t key = (<uint64_t>parent << 32) | <uint64_t>text
        cdef ValueId found = map_get(&self.links, key)
        if found == NO_VALUE:
            found = self.add(None, VALUE_LINK, parent, text, self.symbolic[parent])
            map_put(&self.links, key, found)
        return found

    cdef size_t nbytes(self) noexcept nogil:
        """Return about how many bytes the values take; those of Python's objects are guessed."""
        return 12 * self.links.mask + 22 * self.kind.size() + VALUE_BYTES * self.indexed
