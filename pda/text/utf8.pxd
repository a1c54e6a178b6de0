# Well-formed UTF-8, byte by byte. See utf8.pyx.
from libc.stdint cimport int8_t, int32_t, uint8_t

cdef enum:
    UTF8_STATES = 8
    UTF8_BETWEEN = 0    # between characters: a string may begin or end here
    NOT_UTF8 = -1       # the byte makes no well-formed string


cdef int32_t utf8_step(int32_t state, uint8_t byte) noexcept nogil
cdef const int8_t* utf8_steps() noexcept nogil
