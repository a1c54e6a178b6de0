// Operations of the containers of C++ that Cython cannot spell: conversions of items, and defaults.
#ifndef STACKMASK_CONTAINERS_H
#define STACKMASK_CONTAINERS_H

#include <cstddef>
#include <type_traits>

namespace stackmask {

template <class V, class T>
inline void refill(V& items, size_t count, T item) {
    items.assign(count, static_cast<typename std::remove_reference<V>::type::value_type>(item));
}

template <class V>
inline void room(V& items) {
    if (items.size() == items.capacity()) items.reserve(items.empty() ? 16 : 2 * items.size());
}

template <class V, class W>
inline void copy(V& to, const W& from) {
    to = from;
}

template <class V, class W>
inline void copy_list(V& to, const W& from) {
    to.assign(from.begin(), from.end());
}

template <class M, class K, class T>
inline T look_up(const M& map, const K& key, T missing) {
    auto found = map.find(key);
    return found == map.end() ? missing : static_cast<T>(found->second);
}

template <class M, class K, class T>
inline void enter(M& map, const K& key, T value) {
    map[key] = static_cast<typename std::remove_reference<M>::type::mapped_type>(value);
}

}  // namespace stackmask

#endif
