// The orders in which the members, returns and counted members of a configuration are sorted.
#ifndef STACKMASK_SORTING_H
#define STACKMASK_SORTING_H

#include <algorithm>

namespace stackmask {

// Sort members, each once; the order is inlined, which a pointer to a function would not be.
template <class V>
inline void sort_members(V& items) {
    if (items.size() < 2) return;
    std::sort(items.begin(), items.end(), [](const auto& x, const auto& y) {
        if (x.state != y.state) return x.state < y.state;
        if (x.frame != y.frame) return x.frame < y.frame;
        return x.sem < y.sem;
    });
    items.erase(std::unique(items.begin(), items.end(),
                            [](const auto& x, const auto& y) {
                                return x.state == y.state && x.frame == y.frame && x.sem == y.sem;
                            }),
                items.end());
}

template <class V>
inline void sort_pops(V& items) {
    if (items.size() < 2) return;
    std::sort(items.begin(), items.end(), [](const auto& x, const auto& y) {
        if (x.guard != y.guard) return x.guard < y.guard;
        return x.sem != y.sem ? x.sem < y.sem : x.callee < y.callee;
    });
    items.erase(std::unique(items.begin(), items.end(),
                            [](const auto& x, const auto& y) {
                                return x.guard == y.guard && x.sem == y.sem && x.callee == y.callee;
                            }),
                items.end());
}

// Sort by member and edge; what has more tokens left comes first.
template <class V>
inline void sort_counted(V& items) {
    std::sort(items.begin(), items.end(), [](const auto& x, const auto& y) {
        if (x.member.state != y.member.state) return x.member.state < y.member.state;
        if (x.member.sem != y.member.sem) return x.member.sem < y.member.sem;
        if (x.edge.continuation != y.edge.continuation) return x.edge.continuation < y.edge.continuation;
        if (x.edge.parent != y.edge.parent) return x.edge.parent < y.edge.parent;
        return y.edge.tokens_left < x.edge.tokens_left;  // mutant: fewer-left
    });
}

}  // namespace stackmask

#endif
