# How keys of objects are written.
from libc.stdint cimport uint8_t


cdef struct KeyText:
    # a key is quoted; the front end that owns the syntax says how
    uint8_t quote
    uint8_t escape          # begins another spelling of a character
    uint8_t least           # bytes below this one are always spelled with an escape


cdef inline bint is_plain(const KeyText& syntax, uint8_t byte) noexcept:
    # whether a byte of a key is spelled by itself
    return byte != syntax.quote and byte != syntax.escape and byte >= syntax.least
