# distutils: language = c++
"""Turn tokens as tokenizers write them into their bytes, without a Python object per token."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ
from libc.stdint cimport int16_t, uint32_t, uint8_t
from libc.string cimport memchr, memcmp
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED
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
    """Add pieces of byte-level BPE: each character is a byte; None is no text.

    A piece with a character outside the table stands for its own UTF-8, as ``tokenizers`` decodes it.
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


cdef int encode_utf8(object piece, vector[uint8_t]& out) except FAILED:
    """Write a string as UTF-8, surrogates as if they were characters ("surrogatepass").

    Python's own conversion would leave a second copy in every string that is not ASCII.
    """
    cdef Py_ssize_t i, n = PyUnicode_GET_LENGTH(piece)
    cdef int kind = PyUnicode_KIND(piece)
    cdef void* data = PyUnicode_DATA(piece)
    cdef uint32_t c
    cdef uint8_t* to
    out.resize(4 * n)
    to = out.data()
    for i in range(n):
        c = PyUnicode_READ(kind, data, i)
        if c < 0x80:
            to[0] = <uint8_t>c
            to += 1
        elif c < 0x800:
            to[0] = <uint8_t>(0xC0 | c >> 6)
            to[1] = <uint8_t>(0x80 | c & 0x3F)
            to += 2
        elif c < 0x10000:
            to[0] = <uint8_t>(0xE0 | c >> 12)
            to[1] = <uint8_t>(0x80 | c >> 6 & 0x3F)
            to[2] = <uint8_t>(0x80 | c & 0x3F)
            to += 3
        else:
            to[0] = <uint8_t>(0xF0 | c >> 18)
            to[1] = <uint8_t>(0x80 | c >> 12 & 0x3F)
            to[2] = <uint8_t>(0x80 | c >> 6 & 0x3F)
            to[3] = <uint8_t>(0x80 | c & 0x3F)
            to += 4
    out.resize(to - out.data())
    return 0


cdef int replace_all(
    vector[uint8_t]& text, vector[uint8_t]& other, const uint8_t* old, size_t n, const uint8_t* new, size_t m
) except FAILED nogil:
    """Replace every occurrence of ``old`` (not empty), from the left; ``other`` is a workplace.

    On UTF-8 this is the same as on characters: none begins inside another.
    """
    cdef size_t at = 0, found, length = text.size()
    cdef const uint8_t* hit
    if length < n:
        return 0
    hit = <const uint8_t*>memchr(text.data(), old[0], length)
    if hit == NULL:
        return 0
    other.clear()
    while True:
        found = length if hit == NULL else <size_t>(hit - text.data())
        if found + n > length:
            break
        if memcmp(hit, old, n) == 0:
            other.insert(other.end(), text.data() + at, text.data() + found)
            other.insert(other.end(), new, new + m)
            at = found + n
            found = at
        else:
            found += 1
        hit = <const uint8_t*>memchr(text.data() + found, old[0], length - found)
    if at:
        other.insert(other.end(), text.data() + at, text.data() + length)
        text.swap(other)


def add_pieces(TokenBytesBuilder builder not None, pieces, replacements, bint byte_fallback):
    """Add pieces that are text: ``replacements`` in order, then ``<0xHH>`` is a byte if ``byte_fallback``.

    ``replacements``: pairs of UTF-8 strings, the first of each not empty. None is no text.
    """
    cdef vector[const uint8_t*] olds, news
    cdef vector[size_t] old_sizes, new_sizes
    cdef vector[uint8_t] text, other
    cdef size_t k
    cdef int high, low
    cdef list kept = list(replacements)
    cdef bytes old, new
    for old, new in kept:
        if not old:
            raise ValueError("an empty string cannot be replaced")
        olds.push_back(<const uint8_t*>PyBytes_AS_STRING(old))
        old_sizes.push_back(PyBytes_GET_SIZE(old))
        news.push_back(<const uint8_t*>PyBytes_AS_STRING(new))
        new_sizes.push_back(PyBytes_GET_SIZE(new))
    for piece in pieces:
        if piece is None:
            builder.push_absent()
            continue
        if not isinstance(piece, str):
            raise TypeError(f"a token is written as {type(piece).__name__}, not str")
        encode_utf8(piece, text)
        for k in range(olds.size()):
            replace_all(text, other, olds[k], old_sizes[k], news[k], new_sizes[k])
        if byte_fallback and text.size() == FALLBACK_LENGTH and text[5] == c">":
            high, low = hex_digit(text[3]), hex_digit(text[4])
            if memcmp(text.data(), b"<0x", 3) == 0 and high >= 0 and low >= 0:
                text[0] = <uint8_t>(high << 4 | low)
                text.resize(1)
        builder.push(text.data(), text.size())
