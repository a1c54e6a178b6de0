// Write a value over the logits that a bitmask forbids. See forbid.pyx.
#ifndef STACKMASK_FORBID_H
#define STACKMASK_FORBID_H

#include <cstddef>
#include <cstdint>

#include "../../pda/memory/bits.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define STACKMASK_HAS_AVX2
#include <immintrin.h>
#endif

namespace stackmask {

enum { STREAMED = 8 << 20 };  // bytes of logits from which the cache would be flushed anyway
enum { LONG = 256 };          // logits in a run that is worth going past the cache

template <typename T>
inline void blend_word(T* x, uint32_t word, T value) {
    static const uint32_t one = 1;
    for (int i = 0; i < 32; i++) {
        const T keep = static_cast<T>(-static_cast<T>((word & (one << i)) != 0));
        x[i] = static_cast<T>((x[i] & keep) | (value & static_cast<T>(~keep)));
    }
}

template <typename T>
inline void fill(T* x, ptrdiff_t count, T value) {
    for (ptrdiff_t i = 0; i < count; i++) x[i] = value;
}

struct Plain {
    enum { ONE_BY_ONE = 2 };  // bytes of a logit from which one or two of a word are stored apart
    template <typename T>
    static void blend(T* x, uint32_t word, T value) {
        blend_word(x, word, value);
    }
    template <typename T>
    static void fill(T* x, ptrdiff_t count, T value, bool) {
        stackmask::fill(x, count, value);
    }
    static ptrdiff_t same(const uint32_t* words, ptrdiff_t k, ptrdiff_t whole, uint32_t value) {
        const ptrdiff_t first = k;
        while (k < whole && words[k] == value) k++;
        return k - first;
    }
    static void finish() {}
};

#ifdef STACKMASK_HAS_AVX2
#define STACKMASK_AVX2 __attribute__((target("avx2")))

struct Avx2 {
    enum { ONE_BY_ONE = 4 };  // a blend of 64 bytes costs less than a branch that is guessed wrong
    // loads and blends: masked stores cost some 40 operations each on AMD's processors
    static STACKMASK_AVX2 void blend(uint32_t* x, uint32_t word, uint32_t value) {
        const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        const __m256i v = _mm256_set1_epi32(static_cast<int>(value));
        for (int i = 0; i < 4; i++) {
            __m256i* at = reinterpret_cast<__m256i*>(x + 8 * i);
            const __m256i part = _mm256_set1_epi32(static_cast<int>(word >> (8 * i)));
            const __m256i keep = _mm256_cmpeq_epi32(_mm256_and_si256(part, bits), bits);
            _mm256_storeu_si256(at, _mm256_blendv_epi8(v, _mm256_loadu_si256(at), keep));
        }
    }
    static STACKMASK_AVX2 void blend(uint16_t* x, uint32_t word, uint16_t value) {
        const __m256i bits =
            _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768);
        const __m256i v = _mm256_set1_epi16(static_cast<short>(value));
        for (int i = 0; i < 2; i++) {
            __m256i* at = reinterpret_cast<__m256i*>(x + 16 * i);
            const __m256i part = _mm256_set1_epi16(static_cast<short>(word >> (16 * i)));
            const __m256i keep = _mm256_cmpeq_epi16(_mm256_and_si256(part, bits), bits);
            _mm256_storeu_si256(at, _mm256_blendv_epi8(v, _mm256_loadu_si256(at), keep));
        }
    }
    static STACKMASK_AVX2 void blend(uint64_t* x, uint32_t word, uint64_t value) {
        const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
        const __m256i v = _mm256_set1_epi64x(static_cast<long long>(value));
        for (int i = 0; i < 8; i++) {
            __m256i* at = reinterpret_cast<__m256i*>(x + 4 * i);
            const __m256i part = _mm256_set1_epi64x(static_cast<long long>(word >> (4 * i)));
            const __m256i keep = _mm256_cmpeq_epi64(_mm256_and_si256(part, bits), bits);
            _mm256_storeu_si256(at, _mm256_blendv_epi8(v, _mm256_loadu_si256(at), keep));
        }
    }
    // how many of the words from k on, in steps of 8, are all of one value
    static STACKMASK_AVX2 ptrdiff_t same(const uint32_t* words, ptrdiff_t k, ptrdiff_t whole,
                                         uint32_t value) {
        const __m256i v = _mm256_set1_epi32(static_cast<int>(value));
        const ptrdiff_t first = k;
        for (; k + 8 <= whole; k += 8) {
            const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + k));
            if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(w, v)) != -1) break;
        }
        return k - first;
    }
    template <typename T>
    static STACKMASK_AVX2 void fill(T* x, ptrdiff_t count, T value, bool stream) {
        const ptrdiff_t lanes = 32 / sizeof(T);
        __m256i v;
        if (sizeof(T) == 2)
            v = _mm256_set1_epi16(static_cast<short>(value));
        else if (sizeof(T) == 4)
            v = _mm256_set1_epi32(static_cast<int>(value));
        else
            v = _mm256_set1_epi64x(static_cast<long long>(value));
        ptrdiff_t i = 0;
        if (stream && count >= LONG) {
            // past the cache: reading the lines that are written over would be half of the traffic
            while (reinterpret_cast<uintptr_t>(x + i) & 31) x[i++] = value;
            for (; i + lanes <= count; i += lanes) _mm256_stream_si256(reinterpret_cast<__m256i*>(x + i), v);
        } else {
            for (; i + lanes <= count; i += lanes) _mm256_storeu_si256(reinterpret_cast<__m256i*>(x + i), v);
        }
        for (; i < count; i++) x[i] = value;
    }
    static STACKMASK_AVX2 void finish() { _mm_sfence(); }
};
#endif

struct Shape {
    ptrdiff_t columns, width, logits_stride, words_stride;
    bool stream;
};

// The same loops for each way to store: a macro, since compilers inline between functions of one target.
// Of a row, the bits of words from `columns` on count as 0, and all from there to `width` is forbidden.
#define STACKMASK_FORBID(NAME, TARGET, PATH)                                                          \
    template <typename T>                                                                             \
    TARGET void NAME(T* logits, const uint32_t* masks, const int64_t* rows, ptrdiff_t count, Shape s, \
                     T value) {                                                                       \
        const ptrdiff_t whole = s.columns / 32;                                                       \
        for (ptrdiff_t i = 0; i < count; i++) {                                                       \
            const ptrdiff_t row = rows ? rows[i] : i;                                                 \
            T* x = logits + row * s.logits_stride;                                                    \
            const uint32_t* words = masks + row * s.words_stride;                                     \
            ptrdiff_t k = 0;                                                                          \
            while (k < whole) {                                                                       \
                const uint32_t word = words[k];                                                       \
                if (word == 0xFFFFFFFFu) {                                                            \
                    k += 1 + PATH::same(words, k + 1, whole, word);                                   \
                    continue;                                                                         \
                }                                                                                     \
                if (word == 0) {                                                                      \
                    const ptrdiff_t first = k;                                                        \
                    k += 1 + PATH::same(words, k + 1, whole, word);                                   \
                    while (k < whole && words[k] == 0) k++;                                           \
                    PATH::fill(x + 32 * first, 32 * (k - first), value, s.stream);                    \
                    continue;                                                                         \
                }                                                                                     \
                uint32_t left = ~word;                                                                \
                const uint32_t rest = left & (left - 1);                                              \
                if (sizeof(T) >= PATH::ONE_BY_ONE && !(rest & (rest - 1))) {                          \
                    for (; left; left &= left - 1) x[32 * k + lowest_bit(left)] = value;              \
                } else {                                                                              \
                    PATH::blend(x + 32 * k, word, value);                                             \
                }                                                                                     \
                k++;                                                                                  \
            }                                                                                         \
            if (s.columns % 32) {                                                                     \
                uint32_t left = ~words[whole] & ((static_cast<uint32_t>(1) << (s.columns % 32)) - 1); \
                for (; left; left &= left - 1) x[32 * whole + lowest_bit(left)] = value;              \
            }                                                                                         \
            PATH::fill(x + s.columns, s.width - s.columns, value, s.stream);                          \
        }                                                                                             \
        PATH::finish();                                                                               \
    }

STACKMASK_FORBID(forbid_plain, , Plain)
#ifdef STACKMASK_HAS_AVX2
STACKMASK_FORBID(forbid_avx2, STACKMASK_AVX2, Avx2)
#endif

template <typename T>
void forbid(T* x, const uint32_t* words, const int64_t* rows, ptrdiff_t count, Shape s, T value, bool plain) {
#ifdef STACKMASK_HAS_AVX2
    if (!plain && __builtin_cpu_supports("avx2")) return forbid_avx2(x, words, rows, count, s, value);
#endif
    forbid_plain(x, words, rows, count, s, value);
}

#undef STACKMASK_FORBID
#ifdef STACKMASK_HAS_AVX2
#undef STACKMASK_AVX2
#endif
#undef STACKMASK_HAS_AVX2

}  // namespace stackmask

#endif
