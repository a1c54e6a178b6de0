// Lists of places of tries.
#ifndef STACKMASK_PLACES_H
#define STACKMASK_PLACES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../memory/bits.h"

namespace stackmask {

constexpr size_t BITS_TO_SORT =
    1024;  // one number of so many: they are marked in a set of bits, which is read in order

// Sort numbers from zero on, and drop repetitions.
template <class V>
inline void sort_unique(V& places) {
    bool is_sorted = std::is_sorted(places.begin(), places.end());
    size_t most = 0;
    if (!is_sorted)
        most = static_cast<size_t>(static_cast<int32_t>(*std::max_element(places.begin(), places.end())));
    if (is_sorted || places.size() < most / BITS_TO_SORT) {
        if (!is_sorted) std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        return;
    }
    std::vector<uint64_t> marks(most / 64 + 1);
    for (const auto& place : places) {
        size_t at = static_cast<size_t>(static_cast<int32_t>(place));
        marks[at >> 6] |= uint64_t{1} << (at & 63);
    }
    size_t count = 0;
    for (size_t word = 0; word < marks.size(); word++)
        for (uint64_t left = marks[word]; left; left &= left - 1)
            places[count++] = static_cast<int32_t>(64 * word + static_cast<size_t>(lowest_bit(left)));
    places.resize(count);
}

}  // namespace stackmask

#endif
