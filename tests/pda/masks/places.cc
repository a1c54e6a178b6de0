#include "../../../pda/masks/places.h"

#include <cstdint>
#include <vector>

#include "../../checked.h"

int main() {
    std::vector<int32_t> places = {5, 3, 5, 0};
    stackmask::sort_unique(places);
    CHECK(places == std::vector<int32_t>({0, 3, 5}));
    std::vector<int32_t> many, sorted;
    for (int32_t i = 0; i < 5000; i++)
        many.push_back(static_cast<int32_t>((7919LL * i) % 9973 * 64 % 100003));
    sorted = many;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    many.insert(many.end(), many.begin(), many.begin() + 100);
    stackmask::sort_unique(many);
    CHECK(many == sorted);
}
