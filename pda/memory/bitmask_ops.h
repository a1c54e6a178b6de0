// Operations on rows of words: copy, join, compare, hash. A row of 128,256 tokens is 16 KB, which
// loops of wide loads and stores pass over two to six times as fast as those that every processor can run.
#ifndef STACKMASK_BITMASK_OPS_H
#define STACKMASK_BITMASK_OPS_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stackmask {

constexpr size_t BLOCK = 32;  // words that are compared together

inline uint64_t mixed(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define STACKMASK_AVX2 __attribute__((target("avx2")))

// A row is copied from one cache to the next: there loops of wide stores are a tenth to a third faster
// than the string instructions that memcpy and memset use for this size on some processors.
STACKMASK_AVX2 inline void copy_avx2(char* to, const char* from, size_t size) {
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

// The compiler makes wide code of these loops, under the attribute.
STACKMASK_AVX2 inline void or_avx2(uint32_t* to, const uint32_t* from, size_t words) {
    for (size_t i = 0; i < words; i++) to[i] |= from[i];
}

STACKMASK_AVX2 inline void or_some_avx2(uint32_t* to, const uint32_t* from, const uint32_t* filter,
                                        size_t words) {
    for (size_t i = 0; i < words; i++) to[i] |= from[i] & filter[i];
}

STACKMASK_AVX2 inline size_t differences_avx2(const uint32_t* a, const uint32_t* b, size_t words,
                                              int32_t* where, size_t most, size_t* done) {
    size_t i = 0, found = 0;
    for (; i + BLOCK <= words && found <= most; i += BLOCK) {
        __m256i x[4];
        for (int k = 0; k < 4; k++) {
            x[k] = _mm256_loadu_si256((const __m256i*)(a + i + 8 * k));
            if (b) x[k] = _mm256_xor_si256(x[k], _mm256_loadu_si256((const __m256i*)(b + i + 8 * k)));
        }
        __m256i any = _mm256_or_si256(_mm256_or_si256(x[0], x[1]), _mm256_or_si256(x[2], x[3]));
        if (_mm256_testz_si256(any, any)) continue;
        for (int k = 0; k < 4; k++) {
            __m256i equal = _mm256_cmpeq_epi32(x[k], _mm256_setzero_si256());
            unsigned left = 0xFFu & ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(equal));
            for (; left; left &= left - 1) where[found++] = (int32_t)(i + 8 * k + __builtin_ctz(left));
        }
    }
    *done = i;
    return found;
}

// Products of the halves of each 64 bits, summed in sixteen lanes; the other half is added, so that a
// zero loses nothing.
STACKMASK_AVX2 inline uint64_t hash_avx2(const uint32_t* words, size_t count, size_t* done) {
    const __m256i secret = _mm256_set_epi64x((long long)0xA0761D6478BD642Fu, (long long)0xE7037ED1A0B428DBu,
                                             (long long)0x8EBC6AF09C88C6E3u, (long long)0x589965CC75374CC3u);
    __m256i lanes[4];
    uint64_t out[16], h = 61;
    size_t i = 0;
    for (int k = 0; k < 4; k++) lanes[k] = _mm256_set1_epi64x(k + 1);
    for (; i + 32 <= count; i += 32) {
        for (int k = 0; k < 4; k++) {
            __m256i x = _mm256_loadu_si256((const __m256i*)(words + i + 8 * k));
            __m256i y = _mm256_xor_si256(_mm256_xor_si256(x, secret), lanes[k]);
            __m256i product = _mm256_mul_epu32(y, _mm256_shuffle_epi32(y, 0xB1));
            lanes[k] = _mm256_add_epi64(product, _mm256_add_epi64(lanes[k], _mm256_shuffle_epi32(x, 0x4E)));
        }
    }
    for (int k = 0; k < 4; k++) _mm256_storeu_si256((__m256i*)(out + 4 * k), lanes[k]);
    for (int k = 0; k < 16; k++) h = mixed(h, out[k]);
    *done = i;
    return h;
}

inline bool is_wide(size_t words) { return words >= 32 && __builtin_cpu_supports("avx2"); }
#else
inline bool is_wide(size_t) { return false; }
inline void copy_avx2(char*, const char*, size_t) {}
inline void or_avx2(uint32_t*, const uint32_t*, size_t) {}
inline void or_some_avx2(uint32_t*, const uint32_t*, const uint32_t*, size_t) {}
inline size_t differences_avx2(const uint32_t*, const uint32_t*, size_t, int32_t*, size_t, size_t*) {
    return 0;
}
inline uint64_t hash_avx2(const uint32_t*, size_t, size_t*) { return 0; }
#endif

// Copy words, or write zeros where there is no row to copy.
inline void copy_words(uint32_t* to, const uint32_t* from, size_t words) {
    if (is_wide(words))
        copy_avx2((char*)to, (const char*)from, 4 * words);
    else if (from)
        memcpy(to, from, 4 * words);
    else
        memset(to, 0, 4 * words);
}

// Or words into others, limited to a filter if there is one.
inline void or_words(uint32_t* to, const uint32_t* from, const uint32_t* filter, size_t words) {
    if (is_wide(words)) {
        if (filter)
            or_some_avx2(to, from, filter, words);
        else
            or_avx2(to, from, words);
    } else if (filter) {
        for (size_t i = 0; i < words; i++) to[i] |= from[i] & filter[i];
    } else {
        for (size_t i = 0; i < words; i++) to[i] |= from[i];
    }
}

// Write the numbers of the words that differ from those of b, or from zero, and return how many. The
// search ends after more than `most`; `where` has room for `most` and a block.
inline size_t differences(const uint32_t* a, const uint32_t* b, size_t words, int32_t* where, size_t most) {
    size_t i = 0, found = 0;
    if (is_wide(words)) found = differences_avx2(a, b, words, where, most, &i);
    for (; i < words && found <= most; i++) {
        if (a[i] != (b ? b[i] : 0)) where[found++] = (int32_t)i;
    }
    return found;
}

// A hash of words, in which any two of them may differ.
inline uint64_t hash_words(const uint32_t* words, size_t count) {
    uint64_t h = 61, lanes[4] = {61, 62, 63, 64};
    size_t i = 0;
    if (is_wide(count))
        h = hash_avx2(words, count, &i);
    else {
        for (; i + 8 <= count; i += 8) {
            for (int k = 0; k < 4; k++) {
                uint64_t x = words[i + 2 * k] | ((uint64_t)words[i + 2 * k + 1] << 32);
                lanes[k] = (lanes[k] ^ x) * 0x9E3779B97F4A7C15u;
                lanes[k] = (lanes[k] << 32) | (lanes[k] >> 32);
            }
        }
        for (int k = 0; k < 4; k++) h = mixed(h, lanes[k]);
    }
    for (; i < count; i++) h = mixed(h, words[i]);
    return h;
}

}  // namespace stackmask

#endif
