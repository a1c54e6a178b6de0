# distutils: language = c++
"""UTF-8, byte by byte, and the values of JSON strings."""

# ------------------------------------------------------------------------------------------------
# The automaton of well-formed UTF-8, over bytes.
#
# State 0 is between characters; 1 to 3 are before that many more bytes of a character, of which each may be any
# continuation byte; 4 to 7 are after a first byte that allows only some second bytes: E0, ED, F0, F4.
#
# Source: RFC 3629, section 4.
# ------------------------------------------------------------------------------------------------


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


cdef int make_steps() except FAILED nogil:
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
    """Return the state after a byte, or -1 if the bytes are not well-formed UTF-8."""
    return utf8_step(state, <uint8_t>byte)


# ------------------------------------------------------------------------------------------------
# The values of JSON strings (RFC 8259, section 7), for keys that must be unique.
# ------------------------------------------------------------------------------------------------


cdef inline int32_t hex_digit(uint8_t c) noexcept nogil:
    if c"0" <= c <= c"9":
        return c - c"0"
    c |= 0x20
    return c - c"a" + 10 if c"a" <= c <= c"f" else -1


cdef int32_t four_digits(const uint8_t* text, size_t size, size_t at) noexcept nogil:
    """Return the number that the four hexadecimal digits at ``at`` represent, or -1."""
    cdef int32_t digit, code = 0
    cdef size_t i
    if at + 4 > size:
        return -1
    for i in range(at, at + 4):
        digit = hex_digit(text[i])
        if digit < 0:
            return -1
        code = 16 * code + digit
    return code


cdef bint json_unescape(const uint8_t* text, size_t size, vector[uint8_t]& out) except FAILED nogil:
    """Write the value of a JSON string as UTF-8; return False if it is not a JSON string.

    An unpaired surrogate is written as its three bytes, so that different strings have different values.
    """
    cdef size_t i = 1
    cdef int32_t code, second
    cdef uint8_t c
    if size < 2 or text[0] != c'"' or text[size - 1] != c'"':
        return False
    size -= 1
    while i < size:
        c = text[i]
        i += 1
        if c == c'"' or c < 0x20:
            return False
        if c != c"\\":
            out.push_back(c)
            continue
        if i == size:
            return False
        c = text[i]
        i += 1
        if c == c"u":
            code = four_digits(text, size, i)
            if code < 0:
                return False
            i += 4
            if 0xD800 <= code < 0xDC00 and i + 1 < size and text[i] == c"\\" and text[i + 1] == c"u":
                second = four_digits(text, size, i + 2)
                if 0xDC00 <= second < 0xE000:
                    code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)
                    i += 6
            if code < 0x80:
                out.push_back(<uint8_t>code)
            elif code < 0x800:
                out.push_back(<uint8_t>(0xC0 | (code >> 6)))
                out.push_back(<uint8_t>(0x80 | (code & 0x3F)))
            elif code < 0x10000:
                out.push_back(<uint8_t>(0xE0 | (code >> 12)))
                out.push_back(<uint8_t>(0x80 | ((code >> 6) & 0x3F)))
                out.push_back(<uint8_t>(0x80 | (code & 0x3F)))
            else:
                out.push_back(<uint8_t>(0xF0 | (code >> 18)))
                out.push_back(<uint8_t>(0x80 | ((code >> 12) & 0x3F)))
                out.push_back(<uint8_t>(0x80 | ((code >> 6) & 0x3F)))
                out.push_back(<uint8_t>(0x80 | (code & 0x3F)))
        elif c == c'"' or c == c"\\" or c == c"/":
            out.push_back(c)
        elif c == c"b":
            out.push_back(0x08)
        elif c == c"f":
            out.push_back(0x0C)
        elif c == c"n":
            out.push_back(0x0A)
        elif c == c"r":
            out.push_back(0x0D)
        elif c == c"t":
            out.push_back(0x09)
        else:
            return False
    return True


def json_string_value(bytes text):
    """Return the value of a JSON string with quotes, as UTF-8; None for another text."""
    cdef vector[uint8_t] out
    cdef const uint8_t* data = text
    if not json_unescape(data, len(text), out):
        return None
    return bytes(out)
