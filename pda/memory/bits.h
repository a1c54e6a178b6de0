// Bits of words: the lowest one, and how many.
#ifndef STACKMASK_BITS_H
#define STACKMASK_BITS_H

#include <cstdint>

namespace stackmask {

// The number of the lowest bit of a word that is not 0.
inline int lowest_bit(uint64_t word) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(word);
#else
    int n = 0;
    for (; !(word & 1); word >>= 1) n++;
    return n;
#endif
}

inline int ones(uint64_t word) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_popcountll(word);
#else
    int n = 0;
    for (; word; word &= word - 1) n++;
    return n;
#endif
}

}  // namespace stackmask

#endif
