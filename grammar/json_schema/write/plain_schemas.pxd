# What the keywords of one schema say that is plain.
cimport cython


cdef enum:
    NULL_BIT = 1            # types, as in `sets.values`
    TRUE_BIT = 2
    FALSE_BIT = 4
    NUMBER_BIT = 8
    STRING_BIT = 16
    ARRAY_BIT = 32
    OBJECT_BIT = 64
    ANY_BITS = 127


@cython.final
cdef class PlainShape:
    cdef int kinds
    cdef bint whole         # its numbers are integers
    cdef bint of_scalars    # more is said of scalar values than their types
    cdef bint of_values     # it is one of some values
    cdef bint of_arrays
    cdef bint of_objects
    cdef object properties
    cdef object required
    cdef object others
    cdef object items
    cdef Py_ssize_t low
    cdef Py_ssize_t high    # -1: without end


cdef PlainShape shape_of(dict schema, frozenset keywords)
