# Where the rows of a bitmask are. See mask_buffer.pyx.
from cpython.long cimport PyLong_AsLongAndOverflow, PyLong_CheckExact
from libc.stdint cimport int32_t, uint32_t

from stackmask.pda.ids cimport FAILED, ID_FAILED


cdef struct Rows:
    Py_buffer view
    bint has_view
    uint32_t* aligned       # a copy that is written back, where the memory is not aligned; else NULL
    uint32_t* base
    Py_ssize_t rows
    Py_ssize_t width


cdef object as_token(object token)
cdef int open_rows(object mask, Rows* out) except FAILED
cdef void close_rows(Rows* rows) noexcept
cdef uint32_t* row_of(Rows* rows, object number, int32_t width) except NULL
cdef uint32_t* row_at(Rows* rows, Py_ssize_t number, int32_t width) except NULL


cdef inline int32_t as_id(object token, int32_t size) except ID_FAILED:
    """Return a token id, or -1 for an integer out of range. Raises: MatcherTypeError for other types."""
    cdef int overflow = 0
    cdef long id
    number = token if PyLong_CheckExact(token) else as_token(token)
    id = PyLong_AsLongAndOverflow(number, &overflow)
    return <int32_t>id if not overflow and 0 <= id < size else -1


cdef inline bint is_empty_row(const uint32_t* words, int32_t width) noexcept nogil:
    """Return whether a row allows no token."""
    cdef int32_t i
    for i in range(width):
        if words[i]:
            return False
    return True


cdef inline bint every_allowed(const uint32_t* words, int32_t size) noexcept nogil:
    """Return whether a row allows every token."""
    cdef int32_t i
    for i in range(size >> 5):
        if words[i] != <uint32_t>0xFFFFFFFF:
            return False
    return not (size & 31) or words[size >> 5] == (<uint32_t>1 << (size & 31)) - 1
