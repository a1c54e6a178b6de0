# distutils: language = c++
"""Convert the written tokens of tokenizers to their bytes, without a Python object for each token."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport (
    PyUnicode_AsEncodedString,
    PyUnicode_DATA,
    PyUnicode_GET_LENGTH,
    PyUnicode_KIND,
    PyUnicode_READ,
    PyUnicode_Replace,
)
from libc.stdint cimport int16_t, uint8_t
from libc.string cimport memcmp
from libcpp.vector cimport vector

from stackmask.pda.vocabulary.token_bytes cimport TokenBytesBuilder

from stackmask.runtime.vocabulary.tokenizers.byte_level import char_to_byte


cdef enum:
    FALLBACK_LENGTH = 6  # of <0xHH>
    TABLE_SIZE = 512     # the characters of the byte-level table are below


cdef inline int hex_digit(uint8_t c) noexcept nogil:
    if 0x30 <= c <= 0x39:
        return c - 0x30
    c |= 0x20
    return c - 0x61 + 10 if 0x61 <= c <= 0x66 else -1


def add_byte_level(TokenBytesBuilder builder not None, pieces):
    """Add pieces of byte-level BPE: each character is a byte; None has no bytes.

    A piece with a character outside the table is decoded as its own UTF-8, as ``tokenizers`` does.
    """
    cdef int16_t[TABLE_SIZE] table
    cdef vector[uint8_t] text
    cdef Py_ssize_t i, n
    cdef Py_UCS4 c
    cdef int kind
    cdef void* data
    cdef bytes own
    for i in range(TABLE_SIZE):
        table[i] = -1
    for char, byte in char_to_byte().items():
        table[<Py_ssize_t>ord(char)] = byte
    for piece in pieces:
        if piece is None:
            builder.push_absent()
            continue
        if not isinstance(piece, str):
            raise TypeError(f"a token is written as {type(piece).__name__}, not str")
        n = PyUnicode_GET_LENGTH(piece)
        kind = PyUnicode_KIND(piece)
        data = PyUnicode_DATA(piece)
        text.resize(n)
        for i in range(n):
            c = PyUnicode_READ(kind, data, i)
            if c >= TABLE_SIZE or table[c] < 0:
                own = piece.encode()
                builder.push(<const uint8_t*>PyBytes_AS_STRING(own), PyBytes_GET_SIZE(own))
                break
            text[i] = <uint8_t>table[c]
        else:
            builder.push(text.data(), n)


def add_pieces(TokenBytesBuilder builder not None, pieces, replacements, bint byte_fallback):
    """Add pieces of text: apply ``replacements`` in order, then read ``<0xHH>`` as a byte if
    ``byte_fallback``.

    ``replacements``: pairs of strings. None has no bytes. Surrogates are encoded as if they were characters.
    """
    cdef const uint8_t* data
    cdef uint8_t byte
    cdef int high, low
    cdef bytes text
    cdef str written, old, new
    cdef list kept = list(replacements)
    for piece in pieces:
        if piece is None:
            builder.push_absent()
            continue
        if not isinstance(piece, str):
            raise TypeError(f"a token is written as {type(piece).__name__}, not str")
        written = piece
        for old, new in kept:
            written = PyUnicode_Replace(written, old, new, -1)
        text = PyUnicode_AsEncodedString(written, "utf-8", "surrogatepass")
        data = <const uint8_t*>PyBytes_AS_STRING(text)
        if byte_fallback and PyBytes_GET_SIZE(text) == FALLBACK_LENGTH and data[5] == c">":
            high, low = hex_digit(data[3]), hex_digit(data[4])
            if memcmp(data, b"<0x", 3) == 0 and high >= 0 and low >= 0:
                byte = <uint8_t>(high << 4 | low)
                builder.push(&byte, 1)
                continue
        builder.push(data, PyBytes_GET_SIZE(text))
