#include "../../../pda/memory/bitmask_ops.h"

#include <random>
#include <vector>

#include "../../../pda/memory/bits.h"
#include "../../checked.h"

typedef std::vector<uint32_t> Words;

static std::mt19937 randoms(5);

static Words some_words(size_t count) {
    Words words(count);
    for (auto& word : words) word = randoms();
    return words;
}

// of all sizes around those where wide loops begin and end, at each alignment, beside words that must not
// change
static void copies_and_joins() {
    for (size_t count = 0; count < 200; count++) {
        size_t shift = count % 8;
        Words from = some_words(count + 8), filter = some_words(count + 8), to = some_words(count + 16),
              before = to;
        stackmask::copy_words(to.data() + shift, from.data(), count);
        for (size_t i = 0; i < to.size(); i++)
            CHECK(to[i] == (i >= shift && i < shift + count ? from[i - shift] : before[i]));
        stackmask::copy_words(to.data() + shift, nullptr, count);
        for (size_t i = 0; i < to.size(); i++)
            CHECK(to[i] == (i >= shift && i < shift + count ? 0 : before[i]));
        to = before;
        stackmask::or_words(to.data() + shift, from.data(), filter.data(), count);
        for (size_t i = 0; i < to.size(); i++)
            CHECK(to[i] == (i >= shift && i < shift + count
                                ? before[i] | (from[i - shift] & filter[i - shift])
                                : before[i]));
        to = before;
        stackmask::or_words(to.data() + shift, from.data(), nullptr, count);
        for (size_t i = 0; i < count; i++) CHECK(to[shift + i] == (before[shift + i] | from[i]));
    }
}

static void finds_differences() {
    for (size_t count = 1; count < 200; count += 3) {
        Words a = some_words(count), b = a;
        std::vector<int32_t> expected, where(count + stackmask::BLOCK);
        for (size_t i = 0; i < count; i += 1 + randoms() % 20) {
            b[i] ^= 1u << randoms() % 32;
            expected.push_back(static_cast<int32_t>(i));
        }
        size_t found = stackmask::differences(a.data(), b.data(), count, where.data(), count);
        CHECK(std::vector<int32_t>(where.begin(), where.begin() + found) == expected);
        CHECK(expected.size() < 4 || stackmask::differences(a.data(), b.data(), count, where.data(), 2) > 2);
        Words zeros(count);
        CHECK(stackmask::differences(zeros.data(), nullptr, count, where.data(), count) == 0);
    }
}

static void hashes_depend_on_each_word() {
    for (size_t count : {1, 7, 8, 31, 32, 33, 100}) {
        Words words = some_words(count);
        uint64_t before = stackmask::hash_words(words.data(), count);
        CHECK(stackmask::hash_words(Words(words).data(), count) == before);
        for (size_t i = 0; i < count; i++) {
            words[i] ^= 0x80000001u;
            CHECK(stackmask::hash_words(words.data(), count) != before);
            words[i] ^= 0x80000001u;
        }
    }
}

static void counts_bits() {
    for (int bit = 0; bit < 64; bit++) {
        uint64_t high = ~uint64_t{0} << bit;
        CHECK(stackmask::lowest_bit(high) == bit && stackmask::ones(high) == 64 - bit);
    }
    CHECK(stackmask::ones(0) == 0);
}

int main() {
    copies_and_joins();
    finds_differences();
    hashes_depend_on_each_word();
    counts_bits();
}
