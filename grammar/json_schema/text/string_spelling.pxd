# Sequences of the spellings of characters.
cimport cython

from stackmask.grammar.ir.expressions cimport Sequence


@cython.final
cdef class Spelling:
    cdef object characters      # character -> its spellings, made when they are asked for
    cdef object quote
    cdef list ascii             # those of ASCII again, by code point; None for what was not asked for yet

    cpdef Sequence text(self, object value)
    cpdef Sequence word(self, object value)
    cdef Sequence spell(self, object value, Py_ssize_t quotes)


cdef Sequence sequence(tuple items)
