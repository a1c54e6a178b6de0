# The keys of the parts of one schema.
cimport cython


@cython.final
cdef class Contents:
    cdef list held              # the lists and objects below, so that they stay where they are
    cdef dict known             # address of a list or object -> its Shape
    cdef dict shapes            # what it holds -> its Shape
    cdef readonly Py_ssize_t size
    cdef readonly bint portable

    cpdef object key(self, dict schema, frozenset keywords)
    cdef object part(self, object value)
    cdef tuple list_of_scalars(self, list items)
    cdef object number(self, object value)


@cython.final
@cython.no_gc
cdef class Shape:
    pass
