// Open-addressing tables for the hot core: ids found by content, and 64-bit keys to 32-bit values.
//
// A small table that grows moves at once. A large one keeps its old slots beside the new ones, and moves some
// of them with what is put: no put pays for all. A table takes no memory before its first put.
#ifndef STACKMASK_HASH_TABLES_H
#define STACKMASK_HASH_TABLES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "growing_array.h"

namespace stackmask {

constexpr int32_t NO_VALUE = INT32_MIN;

constexpr uint64_t FIRST_SLOTS = 64;
constexpr uint64_t MOVED_AT_ONCE = 1 << 14;  // slots of a table that is small
constexpr uint64_t CHEAP_TO_CLEAR = 1 << 12;
// slots that move at a time, so that they cost their bandwidth and not the latency of each; and after how
// many keys, a power of two. Two slots a key would be enough to be done in time
constexpr uint64_t MOVED_TOGETHER = 1024;
constexpr uint64_t MOVED_AFTER = 32;

inline uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

// An array of zeros, a power of two of them, given back by its owner. Zero is a free slot.
// Without memory there is one free slot, which nothing may be written to.
template <class T>
class Slots {
    static constexpr T FREE = 0;
    T* items = const_cast<T*>(&FREE);

  public:
    uint64_t mask = 0;

    Slots() = default;
    explicit Slots(uint64_t count) : items(static_cast<T*>(zeroed(count * sizeof(T)))), mask(count - 1) {
        if (items == nullptr) throw std::bad_alloc();
    }
    Slots(const Slots&) = delete;
    Slots& operator=(Slots&& other) noexcept {
        std::swap(items, other.items);
        std::swap(mask, other.mask);
        return *this;
    }
    ~Slots() {
        if (mask) give_back(items, (mask + 1) * sizeof(T));
    }

    T& operator[](uint64_t i) const { return items[i]; }
    void clear() { std::memset(items, 0, (mask + 1) * sizeof(T)); }
};

// A search for the ids of one tag.
struct Probe {
    uint64_t pos;      // in the slots; the free one once the search has ended
    uint64_t old_pos;  // in the old slots
    uint32_t tag;
    bool in_old;
};

class IdTable {
    // a slot is tag << 32 | id + 1; tags are 32 bits of the hash, so growing needs no content
    Slots<uint64_t> here, old;
    uint64_t count = 0, moved = 0;

  public:
    // Begin a search for what has the hash h.
    Probe probe(uint64_t h) const {
        uint32_t tag = static_cast<uint32_t>(h >> 16);
        return Probe{tag & here.mask, 0, tag, false};
    }

    // The next id that may be the one looked for, -1 if there is none. The same id may come twice.
    int32_t next(Probe& p) const {
        if (!p.in_old) {
            while (uint64_t slot = here[p.pos]) {
                p.pos = (p.pos + 1) & here.mask;
                if (static_cast<uint32_t>(slot >> 32) == p.tag) return static_cast<int32_t>(slot) - 1;
            }
            if (!old.mask) return -1;
        }
        return next_old(p);
    }

    // Put an id. The search has ended without a result, and the table has not changed since.
    void put(const Probe& p, int32_t id) {
        uint64_t pos = p.pos;
        if (!here.mask) {
            here = Slots<uint64_t>(FIRST_SLOTS);
            pos = p.tag & here.mask;
        }
        here[pos] = static_cast<uint64_t>(p.tag) << 32 | static_cast<uint32_t>(id + 1);
        count++;
        if (old.mask) {
            if (!(count & (MOVED_AFTER - 1))) move_some();
        } else if (count * 3 > here.mask * 2) {
            grow();
        }
    }

    // Forget all ids, and give the memory back.
    void reset() {
        here = Slots<uint64_t>();
        old = Slots<uint64_t>();
        count = 0;
    }

    size_t nbytes() const { return sizeof(uint64_t) * here.mask; }

  private:
    int32_t next_old(Probe& p) const {
        if (!p.in_old) {
            p.in_old = true;
            p.old_pos = p.tag & old.mask;
        }
        while (uint64_t slot = old[p.old_pos]) {
            p.old_pos = (p.old_pos + 1) & old.mask;
            if (static_cast<uint32_t>(slot >> 32) == p.tag) return static_cast<int32_t>(slot) - 1;
        }
        return -1;
    }

    void grow() {
        uint64_t slots = 2 * (here.mask + 1);
        Slots<uint64_t> more(slots);
        old = std::move(here);
        here = std::move(more);
        moved = 0;
        while (slots <= MOVED_AT_ONCE && old.mask) move_some();
    }

    // New ids were not among the old ones, so no id is there twice.
    void move_some() {
        uint64_t stop = std::min(moved + MOVED_TOGETHER, old.mask + 1);
        for (; moved < stop; moved++) {
            uint64_t slot = old[moved];
            if (!slot) continue;
            uint64_t pos = (slot >> 32) & here.mask;
            while (here[pos]) pos = (pos + 1) & here.mask;  // mutant: collision
            here[pos] = slot;
        }
        if (stop > old.mask) old = Slots<uint64_t>();
    }
};

class KeyMap {
    // a value is held as value ^ NO_VALUE: never as 0
    Slots<uint64_t> keys, old_keys;
    Slots<int32_t> vals, old_vals;
    uint64_t moved = 0;

  public:
    uint64_t count = 0;

    // The value of a key, NO_VALUE if it has none.
    int32_t get(uint64_t key) const {
        uint64_t pos = mix(0, key) & vals.mask;
        for (; vals[pos]; pos = (pos + 1) & vals.mask) {
            if (keys[pos] == key) return vals[pos] ^ NO_VALUE;
        }
        return old_vals.mask ? get_old(key) : NO_VALUE;
    }

    // Give a key a value, other than NO_VALUE.
    void put(uint64_t key, int32_t value) {
        if (!vals.mask) begin();
        uint64_t pos = mix(0, key) & vals.mask;
        for (; vals[pos]; pos = (pos + 1) & vals.mask) {
            if (keys[pos] == key) {
                vals[pos] = value ^ NO_VALUE;
                return;
            }
        }
        keys[pos] = key;
        vals[pos] = value ^ NO_VALUE;
        if (old_vals.mask) {
            // what the old slots have under the key is hidden from now on
            count += get_old(key) == NO_VALUE;
            if (!(count & (MOVED_AFTER - 1))) move_some();
            return;
        }
        count++;
        if (count * 3 > vals.mask * 2) grow();
    }

    // Forget all keys. A table that was once large, and now is nearly empty, gives its memory back.
    void clear() {
        if (!count) return;
        if (vals.mask >= CHEAP_TO_CLEAR && count < vals.mask >> 5) return reset();
        forget_old();
        vals.clear();
        count = 0;
    }

    // Forget all keys, and give the memory back.
    void reset() {
        forget_old();
        keys = Slots<uint64_t>();
        vals = Slots<int32_t>();
        count = 0;
    }

    size_t nbytes() const { return (sizeof(uint64_t) + sizeof(int32_t)) * vals.mask; }

  private:
    void forget_old() {
        old_keys = Slots<uint64_t>();
        old_vals = Slots<int32_t>();
    }

    void begin() {
        Slots<uint64_t> first(FIRST_SLOTS);
        vals = Slots<int32_t>(FIRST_SLOTS);
        keys = std::move(first);
    }

    int32_t get_old(uint64_t key) const {
        uint64_t pos = mix(0, key) & old_vals.mask;
        for (; old_vals[pos]; pos = (pos + 1) & old_vals.mask) {
            if (old_keys[pos] == key) return old_vals[pos] ^ NO_VALUE;
        }
        return NO_VALUE;
    }

    void grow() {
        uint64_t slots = 2 * (vals.mask + 1);
        Slots<uint64_t> more_keys(slots);
        Slots<int32_t> more_vals(slots);
        old_keys = std::move(keys);
        old_vals = std::move(vals);
        keys = std::move(more_keys);
        vals = std::move(more_vals);
        moved = 0;
        while (slots <= MOVED_AT_ONCE && old_vals.mask) move_some();
    }

    // The old slots are unchanged until all are moved, since their keys are found by probing. If a key has
    // been put again, the newer value counts.
    void move_some() {
        uint64_t stop = std::min(moved + MOVED_TOGETHER, old_vals.mask + 1);
        for (; moved < stop; moved++) {
            if (!old_vals[moved]) continue;
            uint64_t key = old_keys[moved], pos = mix(0, key) & vals.mask;
            while (vals[pos] && keys[pos] != key) pos = (pos + 1) & vals.mask;
            if (vals[pos]) continue;
            keys[pos] = key;
            vals[pos] = old_vals[moved];
        }
        if (stop > old_vals.mask) forget_old();
    }
};

}  // namespace stackmask

#endif
