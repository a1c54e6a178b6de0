# A clock, a short sleep, and flags that several threads read and write; none needs the interpreter's lock.
cdef extern from "clock.h" nogil:
    int atomic_read "stackmask::atomic_read"(const int& place) noexcept
    void atomic_write "stackmask::atomic_write"(int& place, int value) noexcept
    void sleep_a_moment "stackmask::sleep_a_moment"() noexcept
    double seconds "stackmask::seconds"() noexcept
