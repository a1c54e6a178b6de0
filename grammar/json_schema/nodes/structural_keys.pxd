# The keys of the parts of one schema.
cimport cython


@cython.final
cdef class Contents:
    cdef list held              # the lists and objects below, so that they stay where they are
    cdef dict known             # address of a list or object -> its Shape, as part of a schema
    cdef dict known_values      # the same, as part of a value
    cdef dict shapes            # what it holds -> its Shape
    cdef dict words             # name -> text -> the Shape of an object that has this alone
    cdef readonly Py_ssize_t size
    cdef readonly bint portable

    cpdef object key(self, dict schema, frozenset keywords)
    cpdef object sketch(self, dict schema, frozenset keywords)
    cdef object part(self, object value, bint exact=*)
    cdef tuple list_of_scalars(self, list items)
    cdef object number(self, object value, bint exact, int depth=*)
    cdef object number_deep(self, object value, bint exact)


@cython.final
@cython.no_gc
cdef class Shape:
    pass
