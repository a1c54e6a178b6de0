# A clock, a short sleep, and flags that several threads read and write; none needs the interpreter's lock.
cdef extern from * nogil:
    """
    #include <chrono>
    #include <thread>

    #if defined(__GNUC__) || defined(__clang__)
    #define STACKMASK_READ(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
    #define STACKMASK_WRITE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
    #else
    // where a compiler has no such functions, a volatile int is read and written whole
    #define STACKMASK_READ(place) (*(volatile int*)&(place))
    #define STACKMASK_WRITE(place, value) (*(volatile int*)&(place) = (value))
    #endif

    static inline double stackmask_seconds() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    static inline void stackmask_sleep() {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    """
    int atomic_read "STACKMASK_READ"(int place) noexcept
    void atomic_write "STACKMASK_WRITE"(int place, int value) noexcept
    void sleep_a_moment "stackmask_sleep"() noexcept
    double seconds "stackmask_seconds"() noexcept
