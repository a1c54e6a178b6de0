# Arrays that grow without being copied. See growing_array.h.
cdef extern from "growing_array.h" nogil:
    void* zeroed "stackmask::zeroed"(size_t bytes) noexcept nogil
    void give_back "stackmask::give_back"(void* memory, size_t bytes) noexcept nogil

    cdef cppclass Growing "stackmask::GrowingArray"[T]:
        size_t size()
        bint empty()
        T* data()
        T* begin()
        T* end()
        T& operator[](size_t)
        T& back()
        void pop_back()
        void push_back(T&) except +
        void resize(size_t) except +
        void resize(size_t, T&) except +
        void append[I](I, I) except +
        void clear()
