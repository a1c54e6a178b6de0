/* What a process under callgrind asks of it: a shared library, so that Python can (`counting.py` compiles it). */

#include <valgrind/callgrind.h>

void counting_begin(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void counting_end(const char *name) {
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}
