"""Strings as sequences of their characters' spellings, which are used for every name in a new schema."""

cimport cython
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from stackmask.grammar.ir.expressions cimport SEQUENCE, Sequence


cdef extern from "Python.h":
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    Py_UCS4 PyUnicode_READ_CHAR(object, Py_ssize_t)


@cython.final
cdef class Spelling:
    """Spells strings of two or more characters, from the spellings of characters and of a quote."""

    def __init__(self, object characters, object quote):
        self.characters = characters
        self.quote = quote
        self.ascii = [None] * 128

    cpdef Sequence text(self, object value):
        """Return every spelling of a string, without the quotes. Raises: ValueError for a lone surrogate."""
        return self.spell(value, 0)

    cpdef Sequence word(self, object value):
        """Return every spelling of a string, with the quotes. Raises: ValueError for a lone surrogate."""
        return self.spell(value, 1)

    cdef Sequence spell(self, object value, Py_ssize_t quotes):
        cdef Py_ssize_t size, i
        cdef Py_UCS4 char
        cdef object part
        cdef tuple items
        if not isinstance(value, str):
            raise TypeError(f"a text is a str, not {type(value).__name__}")
        size = PyUnicode_GET_LENGTH(value)
        items = PyTuple_New(size + 2 * quotes)
        for i in range(size):
            char = PyUnicode_READ_CHAR(value, i)
            part = self.ascii[<Py_ssize_t>char] if char < 128 else None  # mutant: spelling-cache
            if part is None:
                part = self.characters[chr(char)]
                if char < 128:
                    self.ascii[<Py_ssize_t>char] = part
            Py_INCREF(part)
            PyTuple_SET_ITEM(items, quotes + i, part)
        if quotes:
            Py_INCREF(self.quote)
            PyTuple_SET_ITEM(items, 0, self.quote)
            Py_INCREF(self.quote)
            PyTuple_SET_ITEM(items, size + 1, self.quote)
        return sequence(items)


cdef Sequence sequence(tuple items):
    """Return ``Sequence(items)``."""
    cdef Sequence made = Sequence.__new__(Sequence)
    made.kind = SEQUENCE
    made.items = items
    made.take_all(items)
    return made
