#include "../../../pda/memory/containers.h"

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "../../../pda/memory/clock.h"
#include "../../checked.h"

int main() {
    std::vector<int16_t> items;
    stackmask::refill(items, 3, 7);
    CHECK(items == std::vector<int16_t>({7, 7, 7}));
    for (int i = 0; i < 1000; i++) {
        stackmask::room(items);
        CHECK(items.size() < items.capacity());
        items.push_back(static_cast<int16_t>(i));
    }
    std::vector<int16_t> copied;
    stackmask::copy(copied, items);
    CHECK(copied == items);
    std::vector<int64_t> wide;
    stackmask::copy_list(wide, std::list<int32_t>{1, -2});
    CHECK(wide == std::vector<int64_t>({1, -2}));
    std::unordered_map<int, int16_t> map;
    stackmask::enter(map, 3, 4);
    stackmask::enter(map, 3, 5);
    CHECK(stackmask::look_up(map, 3, -1) == 5 && stackmask::look_up(map, 4, -1) == -1);
    int flag = 0;
    stackmask::atomic_write(flag, 2);
    CHECK(stackmask::atomic_read(flag) == 2);
    double before = stackmask::seconds();
    stackmask::sleep_a_moment();
    CHECK(stackmask::seconds() > before);
}
