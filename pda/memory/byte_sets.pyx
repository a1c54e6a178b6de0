# distutils: language = c++
"""Sets of small numbers as 64-bit words."""


cdef int list_bits(vector[uint64_t]& words, size_t most, vector[int32_t]& out) except -1 nogil:
    """Append the members of a set in order, until the list has ``most``."""
    cdef size_t i
    cdef uint64_t word
    cdef int32_t member
    for i in range(words.size()):
        word = words[i]
        member = <int32_t>(64 * i)
        while word and out.size() < most:
            if word & 1:
                out.push_back(member)
            word >>= 1
            member += 1
    return 0
