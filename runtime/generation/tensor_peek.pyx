"""Read CPU tensors in place for a step of one row, since torch calls cost more.

Addresses are from ``Tensor.data_ptr``; the tensors must exist until the call returns.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uintptr_t


def next_id(uintptr_t row, Py_ssize_t length, list columns, list values, list tokens, Py_ssize_t recent):
    """Return the last id of a row if it continues as expected, else -1.

    Shapes: ``row`` is the address of ``length`` ids of 64 bits; ``values`` are the ids expected at
    ``columns``; the last ``recent`` of ``tokens`` are expected before the last id.
    """
    cdef const int64_t* ids = <const int64_t*>row
    cdef Py_ssize_t i, start = len(tokens) - recent, first = length - 1 - recent
    if start < 0 or first < 0:
        return -1
    for i in range(len(columns)):
        if ids[<Py_ssize_t>columns[i]] != <int64_t>values[i]:
            return -1
    for i in range(recent):
        if ids[first + i] != <int64_t>tokens[start + i]:
            return -1
    return ids[length - 1]


def has_choice(uintptr_t scores, uintptr_t mask, Py_ssize_t columns):
    """Return whether any token that a mask allows has a score above -inf.

    Shapes: ``scores`` is the address of ``columns`` numbers of single precision, ``mask`` the address of a
    row.
    Cost: reads the words up to the first such token.
    """
    cdef const float* x = <const float*>scores
    cdef const uint32_t* words = <const uint32_t*>mask
    cdef Py_ssize_t i, word
    cdef uint32_t bits
    for word in range((columns + 31) >> 5):
        bits = words[word]
        if not bits:
            continue
        for i in range(word << 5, min((word + 1) << 5, columns)):
            if (bits >> (i & 31)) & 1 and x[i] != -INFINITY:
                return True
    return False
