# Operations on rows of words: copy, join, compare, hash. A row of 128,256 tokens is 16 KB, which
# loops of wide loads and stores pass over two to six times as fast as those that every processor can run.
from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef extern from "bitmask_ops.h" nogil:
    enum:
        BLOCK "stackmask::BLOCK"

    void copy_words "stackmask::copy_words"(uint32_t* to, const uint32_t* source, size_t words) noexcept nogil
    void or_words "stackmask::or_words"(
        uint32_t* to, const uint32_t* source, const uint32_t* filter, size_t words
    ) noexcept nogil
    size_t differences "stackmask::differences"(
        const uint32_t* a, const uint32_t* b, size_t words, int32_t* where, size_t most
    ) noexcept nogil
    uint64_t hash_words "stackmask::hash_words"(const uint32_t* words, size_t count) noexcept nogil
