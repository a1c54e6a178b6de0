// The edges of frames. frames.pxd says what their fields mean.
#ifndef STACKMASK_FRAMES_H
#define STACKMASK_FRAMES_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../ids.h"

namespace stackmask {

struct Edge {
    TermId continuation;
    FrameId parent;
    ReturnAction action;
    union {
        int32_t operand;
        SemId saved;
        int32_t tokens_left;
    };

    friend bool operator==(const Edge& x, const Edge& y) {
        return x.continuation == y.continuation && x.parent == y.parent && x.action == y.action &&
               x.operand == y.operand;
    }
    friend bool operator<(const Edge& x, const Edge& y) {
        if (x.continuation != y.continuation) return x.continuation < y.continuation;
        if (x.parent != y.parent) return x.parent < y.parent;
        if (x.action != y.action) return x.action.code() < y.action.code();
        return x.operand < y.operand;
    }
};
static_assert(sizeof(Edge) == 16, "a line of the cache holds four edges");

// Sort edges, each once.
inline void sort_edges(std::vector<Edge>& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace stackmask

#endif
