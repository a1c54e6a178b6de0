// A check for programs that test headers: it says what failed, also where `assert` is compiled away.
#ifndef STACKMASK_TESTS_CHECKED_H
#define STACKMASK_TESTS_CHECKED_H

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

#endif
