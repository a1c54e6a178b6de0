# Operations of C++ containers that allocate memory. `libcpp` declares them as if they could not fail, and an
# exception that Cython does not expect ends the process.
cdef extern from "<queue>" namespace "std" nogil:
    cdef cppclass priority_queue[T]:
        bint empty()
        T& top()
        void push(T&) except +
        void pop()
        void swap(priority_queue[T]&)


cdef extern from * nogil:
    """
    #ifndef STACKMASK_CONTAINERS
    #define STACKMASK_CONTAINERS
    #include <cstddef>
    #include <type_traits>

    template <class V, class T>
    static inline void stackmask_refill(V& items, size_t count, T item) {
        items.assign(count, static_cast<typename std::remove_reference<V>::type::value_type>(item));
    }

    template <class V>
    static inline void stackmask_room(V& items) {
        if (items.size() == items.capacity()) items.reserve(items.empty() ? 16 : 2 * items.size());
    }

    template <class V, class W>
    static inline void stackmask_copy(V& to, const W& from) {
        to = from;
    }

    template <class V, class W>
    static inline void stackmask_copy_list(V& to, const W& from) {
        to.assign(from.begin(), from.end());
    }

    template <class M, class K, class T>
    static inline T stackmask_look_up(const M& map, const K& key, T missing) {
        auto found = map.find(key);
        return found == map.end() ? missing : static_cast<T>(found->second);
    }

    template <class M, class K, class T>
    static inline void stackmask_enter(M& map, const K& key, T value) {
        map[key] = static_cast<typename std::remove_reference<M>::type::mapped_type>(value);
    }
    #endif
    """
    # v = so many times this
    void refill "stackmask_refill"[V, T](V& items, size_t count, T item) except + nogil
    # make room for one more item, so that pushing it cannot fail
    void make_room "stackmask_room"[V](V& items) except + nogil
    # to = from
    void copy_items "stackmask_copy"[V, W](V& to, W& source) except + nogil
    # the same where the items of one convert to those of the other
    void copy_list "stackmask_copy_list"[V, W](V& to, W& source) except + nogil
    # map[key], or a default for a key that is not there
    T look_up "stackmask_look_up"[M, K, T](M& map, K& key, T missing) noexcept nogil
    # map[key] = value
    void enter "stackmask_enter"[M, K, T](M& map, K& key, T value) except + nogil
