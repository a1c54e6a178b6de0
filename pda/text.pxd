# Well-formed UTF-8, byte by byte.
from libc.stdint cimport int32_t, int8_t, uint8_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED


cdef enum:
    UTF8_STATES = 8
    UTF8_BETWEEN = 0    # between characters: a string may begin or end here
    NOT_UTF8 = -1       # the byte makes no well-formed string


cdef int32_t utf8_step(int32_t state, uint8_t byte) noexcept nogil
cdef const int8_t* utf8_steps() noexcept nogil


# The values of JSON strings.

cdef bint json_unescape(const uint8_t* text, size_t size, vector[uint8_t]& out) except FAILED nogil
