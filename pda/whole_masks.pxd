# Whole masks: what a fill writes, remembered. See whole_masks.pyx.
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from stackmask.pda.parts cimport MaskParts, Part
from stackmask.pda.tables cimport IdTable, KeyMap

cdef extern from *:
    """
    #ifndef STACKMASK_COPY_WORDS
    #define STACKMASK_COPY_WORDS
    #include <stdint.h>
    #include <string.h>
    // A row is copied from one cache to the next: there loops of wide stores are a tenth to a third faster
    // than the string instructions that memcpy and memset use for this size on some processors.
    #if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    #include <immintrin.h>
    __attribute__((target("avx2"))) static void stackmask_copy_avx2(char* to, const char* from, size_t size) {
        const __m256i zero = _mm256_setzero_si256();
        // the ends are not aligned, and overlap the stores between them
        char* at = to + 32 - ((uintptr_t)to & 31);
        char* end = to + size - 32;
        _mm256_storeu_si256((__m256i*)to, from ? _mm256_loadu_si256((const __m256i*)from) : zero);
        if (from) {
            const char* source = from + (at - to);
            for (; at + 96 <= end; at += 128, source += 128) {
                __m256i a = _mm256_loadu_si256((const __m256i*)source);
                __m256i b = _mm256_loadu_si256((const __m256i*)(source + 32));
                __m256i c = _mm256_loadu_si256((const __m256i*)(source + 64));
                __m256i d = _mm256_loadu_si256((const __m256i*)(source + 96));
                _mm256_store_si256((__m256i*)at, a);
                _mm256_store_si256((__m256i*)(at + 32), b);
                _mm256_store_si256((__m256i*)(at + 64), c);
                _mm256_store_si256((__m256i*)(at + 96), d);
            }
            for (; at < end; at += 32, source += 32)
                _mm256_store_si256((__m256i*)at, _mm256_loadu_si256((const __m256i*)source));
            _mm256_storeu_si256((__m256i*)end, _mm256_loadu_si256((const __m256i*)(from + size - 32)));
        } else {
            for (; at + 96 <= end; at += 128) {
                _mm256_store_si256((__m256i*)at, zero);
                _mm256_store_si256((__m256i*)(at + 32), zero);
                _mm256_store_si256((__m256i*)(at + 64), zero);
                _mm256_store_si256((__m256i*)(at + 96), zero);
            }
            for (; at < end; at += 32) _mm256_store_si256((__m256i*)at, zero);
            _mm256_storeu_si256((__m256i*)end, zero);
        }
    }
    static inline int stackmask_is_wide(size_t size) { return size >= 128 && __builtin_cpu_supports("avx2"); }
    #else
    static inline int stackmask_is_wide(size_t size) { return 0; }
    static inline void stackmask_copy_avx2(char* to, const char* from, size_t size) {}
    #endif
    // Copy words, or write zeros where there is no row to copy.
    static inline void stackmask_copy_words(uint32_t* to, const uint32_t* from, size_t words) {
        if (stackmask_is_wide(4 * words)) stackmask_copy_avx2((char*)to, (const char*)from, 4 * words);
        else if (from) memcpy(to, from, 4 * words);
        else memset(to, 0, 4 * words);
    }
    // Tell whether 16 words differ from others, or from nothing.
    static inline int stackmask_differ_16(const uint32_t* a, const uint32_t* b) {
        uint64_t x[8], y[8], found = 0;
        memcpy(x, a, 64);
        if (b) {
            memcpy(y, b, 64);
            for (int i = 0; i < 8; i++) found |= x[i] ^ y[i];
        } else {
            for (int i = 0; i < 8; i++) found |= x[i];
        }
        return found != 0;
    }
    #endif
    """
    bint differ_16 "stackmask_differ_16"(const uint32_t* a, const uint32_t* b) noexcept nogil
    void copy_words "stackmask_copy_words"(uint32_t* to, const uint32_t* source, size_t words) noexcept nogil


cdef enum:
    NO_MASK = -1        # in place of a mask id: not remembered yet
    PATCHED = -2        # mask ids from here down are patched masks: PATCHED - number


cdef struct Joined:
    int32_t first       # joined_parts[first:first + count]
    int32_t count
    int32_t whole       # its mask id


cdef struct Patch:
    int32_t word        # number of a word of 32 bits
    uint32_t bits       # what it is


cdef struct Patched:
    int32_t base        # a row, or -1: nothing
    int32_t first       # patches[first:first + count]: the words in which it is not the base
    int32_t count


cdef class WholeMasks(MaskParts):
    cdef vector[Part] joined_parts
    cdef vector[Joined] joined              # lists of parts whose mask is remembered
    cdef IdTable joined_index
    cdef KeyMap joined_before               # hash of a list of parts -> rows that it has cost so far
    cdef vector[Patch] patches
    cdef vector[Patched] patched
    cdef IdTable patched_index
    cdef IdTable row_index                  # rows of whole masks by content
    # scratch of one fill
    cdef vector[Patch] changes
    cdef int32_t likely_base                # a row that the mask may be much like, or -1
    cdef readonly uint64_t joins            # lists of parts, and configurations, that got a mask id

    cdef int apply(self, Part part, uint32_t* words) noexcept
    cdef int32_t put_together(self, uint32_t* words) except? -3
    cdef int32_t find_joined(self, uint64_t h, uint64_t* pos) noexcept
    cdef bint find_changes(self, const uint32_t* words, int32_t base) except -1
    cdef int32_t keep_mask(self, const uint32_t* words, int32_t base) except? -3
    cdef int32_t intern_row(self, const uint32_t* words) except -3
    cdef int32_t intern_patched(self, int32_t base) except? -3
    cdef int forget_whole(self) except -1
    cdef size_t whole_nbytes(self) noexcept

    cdef inline void write(self, int32_t whole, uint32_t* words) noexcept nogil:
        """Write a remembered mask."""
        cdef Patched p
        cdef int32_t i
        if whole >= 0:
            copy_words(words, self.rows[whole], self.width)
            return
        p = self.patched[PATCHED - whole]
        copy_words(words, self.rows[p.base] if p.base >= 0 else NULL, self.width)
        for i in range(p.first, p.first + p.count):
            words[self.patches[i].word] = self.patches[i].bits
