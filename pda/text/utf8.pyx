# distutils: language = c++
"""The automaton of well-formed UTF-8, over bytes.

State 0 is between characters; 1 to 3 are before that many more bytes of a character, of which each may be any
continuation byte; 4 to 7 are after a first byte that allows only some second bytes: E0, ED, F0, F4.

Source: RFC 3629, section 4.
"""

from libc.stdint cimport int8_t


cdef int32_t utf8_step(int32_t state, uint8_t byte) noexcept nogil:
    """Return the state after a byte, or NOT_UTF8."""
    if state == UTF8_BETWEEN:
        if byte < 0x80:
            return UTF8_BETWEEN
        if byte < 0xC2 or byte > 0xF4:
            return NOT_UTF8
        if byte < 0xE0:
            return 1
        if byte < 0xF0:
            return 4 if byte == 0xE0 else 5 if byte == 0xED else 2
        return 6 if byte == 0xF0 else 7 if byte == 0xF4 else 3
    if byte < 0x80 or byte > 0xBF:
        return NOT_UTF8
    if state <= 3:
        return state - 1
    if state == 4:
        return 1 if byte >= 0xA0 else NOT_UTF8
    if state == 5:
        return 1 if byte < 0xA0 else NOT_UTF8  # mutant: surrogates
    if state == 6:
        return 2 if byte >= 0x90 else NOT_UTF8
    return 2 if byte < 0x90 else NOT_UTF8


cdef int8_t[2048] STEPS      # utf8_step by state and byte


cdef int make_steps() except -1 nogil:
    cdef int32_t state, byte
    for state in range(UTF8_STATES):
        for byte in range(256):
            STEPS[256 * state + byte] = <int8_t>utf8_step(state, <uint8_t>byte)
    return 0


make_steps()


cdef const int8_t* utf8_steps() noexcept nogil:
    """Return ``utf8_step`` as a table: [256 * state + byte]."""
    return STEPS


def step(int state, int byte):
    """Return the state after a byte, or -1 where the bytes are not well-formed UTF-8."""
    return utf8_step(state, <uint8_t>byte)
