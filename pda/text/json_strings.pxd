# The values of JSON strings. See json_strings.pyx.
from libc.stdint cimport uint8_t
from libcpp.vector cimport vector


cdef bint json_unescape(const uint8_t* text, size_t size, vector[uint8_t]& out) except -1 nogil
