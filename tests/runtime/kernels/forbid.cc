#include "../../../runtime/kernels/forbid.h"

#include <random>
#include <vector>

#include "../../checked.h"

// each word all set, all clear, or any: the loops for each
template <typename T>
static void writes_where_bits_are_clear(bool plain, bool stream) {
    std::mt19937 randoms(9);
    const T value = static_cast<T>(0xFF80FF80FF80FF80u);
    for (ptrdiff_t columns : {0, 1, 31, 32, 33, 320, 1000, 4096 + 5}) {
        const ptrdiff_t rows = 5, width = columns + 40, logits_stride = width + 3,
                        words_stride = columns / 32 + 2;
        std::vector<uint32_t> words(rows * words_stride);
        for (size_t i = 0; i < words.size(); i++) {
            uint32_t kind = i / 9 % 4;
            words[i] = kind == 0   ? 0
                       : kind == 1 ? 0xFFFFFFFFu
                       : kind == 2 ? ~(1u << randoms() % 32)
                                   : randoms();
        }
        std::vector<T> logits(rows * logits_stride);
        for (auto& logit : logits) logit = static_cast<T>(randoms());
        std::vector<T> expected = logits;
        const int64_t chosen[] = {0, 3, 4};
        for (int64_t row : chosen)
            for (ptrdiff_t i = 0; i < width; i++)
                if (i >= columns || !(words[row * words_stride + i / 32] >> i % 32 & 1))
                    expected[row * logits_stride + i] = value;
        stackmask::Shape shape{columns, width, logits_stride, words_stride, stream};
        stackmask::forbid<T>(logits.data(), words.data(), chosen, 3, shape, value, plain);
        CHECK(logits == expected);
    }
}

int main() {
    for (bool plain : {false, true}) {
        for (bool stream : {false, true}) {
            writes_where_bits_are_clear<uint16_t>(plain, stream);
            writes_where_bits_are_clear<uint32_t>(plain, stream);
            writes_where_bits_are_clear<uint64_t>(plain, stream);
        }
    }
}
