#include "../../../pda/memory/hash_tables.h"

#include <random>
#include <unordered_map>
#include <vector>

#include "../../checked.h"

using stackmask::IdTable;
using stackmask::KeyMap;
using stackmask::NO_VALUE;
using stackmask::Probe;

// past the size from which slots are moved little by little
static void values_are_found_while_a_map_grows() {
    std::mt19937_64 random(3);
    KeyMap map;
    std::unordered_map<uint64_t, int32_t> expected;
    CHECK(map.nbytes() == 0 && map.get(0) == NO_VALUE && map.get(7) == NO_VALUE);
    for (int i = 0; i < 300000; i++) {
        uint64_t key = random() % 200000;
        map.put(key, i);
        expected[key] = i;
        uint64_t other = random() % 200000;
        auto found = expected.find(other);
        CHECK(map.get(other) == (found == expected.end() ? NO_VALUE : found->second));
        CHECK(map.count == expected.size());
    }
    for (const auto& [key, value] : expected) CHECK(map.get(key) == value);
}

static void a_map_is_used_again_after_its_keys_are_forgotten() {
    KeyMap map;
    for (int round = 0; round < 6; round++) {
        const int count = round % 2 ? 40 : 20000;
        for (int i = 0; i < count; i++) map.put(static_cast<uint64_t>(i) * 1000003, i);
        for (int i = 0; i < count; i++) CHECK(map.get(static_cast<uint64_t>(i) * 1000003) == i);
        size_t before = map.nbytes();
        if (round == 5)
            map.reset();
        else
            map.clear();
        CHECK(map.count == 0 && map.get(0) == NO_VALUE && map.get(1000003) == NO_VALUE);
        // a few keys in many slots are not worth clearing them
        CHECK(map.nbytes() == (round % 2 ? 0 : before));
    }
}

// equal things have equal hashes, and others may have, too
static void ids_are_found_while_a_table_grows() {
    std::mt19937_64 random(5);
    IdTable table;
    std::vector<uint64_t> things;
    std::unordered_map<uint64_t, int32_t> expected;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 150000; i++) {
            uint64_t thing = random() % 120000;
            Probe probe = table.probe(stackmask::mix(1, thing % 50000));
            int32_t id = table.next(probe);
            while (id >= 0 && things[static_cast<size_t>(id)] != thing) id = table.next(probe);
            auto found = expected.find(thing);
            CHECK(id == (found == expected.end() ? -1 : found->second));
            if (id >= 0) continue;
            id = static_cast<int32_t>(things.size());
            things.push_back(thing);
            expected[thing] = id;
            table.put(probe, id);
        }
        CHECK(table.nbytes() > 0);
        table.reset();
        things.clear();
        expected.clear();
        CHECK(table.nbytes() == 0);
    }
}

int main() {
    values_are_found_while_a_map_grows();
    a_map_is_used_again_after_its_keys_are_forgotten();
    ids_are_found_while_a_table_grows();
}
