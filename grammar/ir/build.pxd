# Constructors of expressions for compiled passes.
cimport cython

from stackmask.grammar.ir.expressions cimport Expression


@cython.final
cdef class Renaming:
    cdef dict names
    cdef bint changes           # whether the body at hand has other names
    cdef readonly Py_ssize_t count

    cpdef object renamed(self, object body)
    cdef object visited(self, object expr, dict known)


cdef bint means_nothing(object expr) except -1
cdef object sequence_of(tuple items, object span)
cdef object choice_of(tuple items, object span)
cdef object rebuilt(Expression expr, list items)
