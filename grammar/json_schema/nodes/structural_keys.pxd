# The keys of the parts of one schema.
cimport cython


@cython.final
cdef class Contents:
    cdef list held              # the lists and objects below, so that they stay where they are
    cdef dict known             # address of a list or object -> its Shape, as part of a schema
    cdef dict known_values      # the same, as part of a value
    cdef dict shapes            # what it holds -> its Shape

    cpdef object key(self, dict schema, frozenset keywords)
    cdef object part(self, object value, bint exact, int depth)
    cdef object number(self, object value, bint exact, int depth)


@cython.final
@cython.no_gc
cdef class Shape:
    pass
