// Tables of what a walk returns.
#ifndef STACKMASK_WALK_RESULT_H
#define STACKMASK_WALK_RESULT_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../ids.h"

namespace stackmask {

struct WalkGroups {              // places where the walk returns or calls with bytes left over: see `Pop`
    std::vector<uint64_t> keys;  // guard << 32 | semantic state
    std::vector<CalleeId> callees;
    std::vector<std::vector<PlaceId>> places;
    std::vector<SuffixesId> ids;  // of those that are in the arena; else -1
    WalkGroupId at(GuardId guard, SemId sem, CalleeId callee) {
        uint64_t key = (static_cast<uint64_t>(guard) << 32) | static_cast<uint64_t>(sem);
        for (size_t g = 0; g < keys.size(); g++)
            if (keys[g] == key && callees[g] == callee) return static_cast<int32_t>(g);
        keys.push_back(key);
        callees.push_back(callee);
        places.resize(keys.size());
        ids.push_back(-1);
        return static_cast<int32_t>(keys.size() - 1);
    }
    GuardId guard(size_t g) const { return static_cast<int32_t>(keys[g] >> 32); }
    SemId sem(size_t g) const { return static_cast<int32_t>(static_cast<uint32_t>(keys[g])); }
    size_t size() const { return keys.size(); }
    void clear() {
        keys.clear();
        callees.clear();
        places.clear();
        ids.clear();
    }
};
struct WalkPendings {  // tokens that only some guards allow
    std::vector<uint64_t> ends;
    std::vector<std::vector<TokenId>> tokens;
    WalkPendingId at(uint64_t guards) {
        for (size_t g = 0; g < ends.size(); g++)
            if (ends[g] == guards) return static_cast<int32_t>(g);
        ends.push_back(guards);
        tokens.resize(ends.size());
        return static_cast<int32_t>(ends.size() - 1);
    }
    size_t size() const { return ends.size(); }
};

}  // namespace stackmask

#endif
