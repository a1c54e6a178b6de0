// A clock, a short sleep, and flags that several threads read and write; none needs the interpreter's lock.
#ifndef STACKMASK_CLOCK_H
#define STACKMASK_CLOCK_H

#include <chrono>
#include <thread>

namespace stackmask {

inline int atomic_read(const int& place) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(&place, __ATOMIC_ACQUIRE);
#else
    // where a compiler has no such functions, a volatile int is read and written whole
    return *static_cast<const volatile int*>(&place);
#endif
}

inline void atomic_write(int& place, int value) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(&place, value, __ATOMIC_RELEASE);
#else
    *static_cast<volatile int*>(&place) = value;
#endif
}

inline double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline void sleep_a_moment() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

}  // namespace stackmask

#endif
