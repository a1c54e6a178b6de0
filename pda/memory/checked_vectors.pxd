# Operations of C++ containers that allocate memory. `libcpp` declares them as if they could not fail, and an
# exception that Cython does not expect ends the process.
cdef extern from "<queue>" namespace "std" nogil:
    cdef cppclass priority_queue[T]:
        bint empty()
        T& top()
        void push(T&) except +
        void pop()
        void swap(priority_queue[T]&)


cdef extern from "containers.h" nogil:
    # v = so many times this
    void refill "stackmask::refill"[V, T](V& items, size_t count, T item) except + nogil
    # make room for one more item, so that pushing it cannot fail
    void make_room "stackmask::room"[V](V& items) except + nogil
    # to = from
    void copy_items "stackmask::copy"[V, W](V& to, W& source) except + nogil
    # the same where the items of one convert to those of the other
    void copy_list "stackmask::copy_list"[V, W](V& to, W& source) except + nogil
    # map[key], or a default for a key that is not there
    T look_up "stackmask::look_up"[M, K, T](M& map, K& key, T missing) noexcept nogil
    # map[key] = value
    void enter "stackmask::enter"[M, K, T](M& map, K& key, T value) except + nogil
