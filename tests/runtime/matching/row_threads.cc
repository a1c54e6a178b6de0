#include "../../../runtime/matching/row_threads.h"

#include <vector>

#include "../../checked.h"

typedef std::vector<std::atomic<int>> Counts;

static void count(void* context, size_t first, size_t last) {
    Counts& counts = *static_cast<Counts*>(context);
    for (size_t i = first; i < last; i++) counts[i]++;
}

static void each_row_is_done_once(size_t items, size_t at_once, int helpers) {
    Counts counts(items);
    stackmask::row_threads()->run(count, &counts, items, at_once, helpers);
    for (auto& times : counts) CHECK(times == 1);
}

int main() {
    CHECK(stackmask::row_threads() == stackmask::row_threads());
    for (int round = 0; round < 200; round++)
        for (int helpers : {0, 1, 3}) each_row_is_done_once(round % 70, 1 + round % 5, helpers);
    // from several callers: one has the threads, the others go on alone
    std::vector<std::thread> callers;
    for (int k = 0; k < 4; k++)
        callers.emplace_back([] {
            for (int round = 0; round < 100; round++) each_row_is_done_once(64, 4, 2);
        });
    for (auto& caller : callers) caller.join();
}
