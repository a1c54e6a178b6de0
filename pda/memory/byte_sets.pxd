# Sets of small numbers as 64-bit words.
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.ids cimport FAILED


cdef extern from "bits.h" nogil:
    # the number of the lowest bit of a word that is not 0
    int lowest_bit "stackmask::lowest_bit"(uint64_t word) noexcept nogil
    int ones "stackmask::ones"(uint64_t word) noexcept nogil


cdef inline bint has_bit(const uint64_t* words, int32_t i) noexcept nogil:
    return (words[i >> 6] >> (i & 63)) & 1


cdef inline bint share_byte(const uint64_t* a, const uint64_t* b) noexcept nogil:
    """Return whether two sets of bytes have a common element."""
    return a[0] & b[0] or a[1] & b[1] or a[2] & b[2] or a[3] & b[3]


cdef inline int32_t count_bits(const uint64_t* words, int32_t count) noexcept nogil:
    """Return the number of members of a set, which is given as words."""
    cdef int32_t k, found = 0
    cdef uint64_t left
    for k in range(count):
        left = words[k]
        while left:
            left &= left - 1
            found += 1
    return found


cdef inline uint64_t range_word(int32_t word, int32_t low, int32_t high) noexcept nogil:
    """Return the bits of a word of a set that lie in ``low..high - 1``."""
    low -= 64 * word
    high -= 64 * word
    if high <= 0 or low >= 64 or low >= high:
        return 0
    return (~<uint64_t>0 << (low if low > 0 else 0)) & (~<uint64_t>0 >> (64 - high if high < 64 else 0))


cdef inline int list_bits(vector[uint64_t]& words, size_t most, vector[int32_t]& out) except FAILED nogil:
    """Append the members of a set in order, until the list has ``most`` items."""
    cdef size_t i
    cdef uint64_t word
    cdef int32_t found
    for i in range(words.size()):
        word = words[i]
        found = <int32_t>(64 * i)
        while word and out.size() < most:
            if word & 1:
                out.push_back(found)
            word >>= 1
            found += 1
    return 0
