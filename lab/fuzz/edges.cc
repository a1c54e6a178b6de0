/* Counts how often each basic block of the extensions runs, for libFuzzer.

gcc calls __sanitizer_cov_trace_pc at each block (STACKMASK_CHECK=edges). libFuzzer wants an array of counters of a byte and
one of the places in the code that they stand for. So a block that runs for the first time gets the next counter, and a hash
table finds it again by its place. Threads may run blocks at the same time: entries are claimed atomically; a count may be lost. */

#include <stddef.h>
#include <stdint.h>

extern "C" {

#define MOST_BLOCKS (1 << 18)
#define SLOTS (1 << 20)
#define SHIFT (64 - 20)

typedef struct {
    uintptr_t place; /* 0: free */
    uint32_t number; /* 0: not known yet; else the counter's number + 1 */
} slot;

typedef struct {
    uintptr_t place;
    uintptr_t flags;
} place_entry; /* as libFuzzer wants it */

static slot slots[SLOTS];
static uint8_t counters[MOST_BLOCKS];
static place_entry places[MOST_BLOCKS];
static uint32_t reached;

static void enter(slot *at, uintptr_t place) {
    uint32_t number = __atomic_fetch_add(&reached, 1, __ATOMIC_RELAXED);
    if (number >= MOST_BLOCKS) {
        __atomic_store_n(&reached, MOST_BLOCKS, __ATOMIC_RELAXED);
        number = MOST_BLOCKS - 1; /* the last counter stands for all that find no other */
    }
    places[number].place = place;
    counters[number] = 1;
    __atomic_store_n(&at->number, number + 1, __ATOMIC_RELEASE);
}

void __sanitizer_cov_trace_pc(void) {
    uintptr_t place = (uintptr_t)__builtin_return_address(0);
    uint64_t at = place * 0x9E3779B97F4A7C15u >> SHIFT;
    for (;; at = (at + 1) & (SLOTS - 1)) {
        uintptr_t there = __atomic_load_n(&slots[at].place, __ATOMIC_RELAXED);
        if (there == place) {
            uint32_t number = __atomic_load_n(&slots[at].number, __ATOMIC_ACQUIRE);
            if (number) {
                uint8_t count = counters[number - 1] + 1;
                counters[number - 1] = count ? count : 128; /* never back to 0 */
            }
            return;
        }
        if (there == 0) {
            uintptr_t none = 0;
            if (__atomic_compare_exchange_n(&slots[at].place, &none, place, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
                enter(&slots[at], place);
                return;
            }
            if (none == place)
                return; /* another thread has just entered it */
        }
    }
}

/* Hand counters and places to libFuzzer. */
void edges_attach(void (*counters_init)(uint8_t *, uint8_t *), void (*places_init)(const uintptr_t *, const uintptr_t *)) {
    counters_init(counters, counters + MOST_BLOCKS);
    places_init((const uintptr_t *)places, (const uintptr_t *)(places + MOST_BLOCKS));
}

/* Return how many blocks have run so far. */
size_t edges_reached(void) { return __atomic_load_n(&reached, __ATOMIC_RELAXED); }

/* Return the place of a block, by its number in the order in which they ran first. */
size_t edges_place(size_t number) { return number < MOST_BLOCKS ? places[number].place : 0; }

} // extern "C"
