#include "../../../pda/memory/growing_array.h"

#include <vector>

#include "../../checked.h"

using stackmask::BorrowedArray;
using stackmask::GrowingArray;

struct Record {
    int a, b, c;
};

// past the size where memory is a mapping, and past large pages
static void grows_and_keeps_what_it_has() {
    GrowingArray<Record> records;
    const int count = 1 << 20;
    for (int i = 0; i < count; i++) {
        records.push_back(Record{i, 2 * i, 3 * i});
        if (i % 4096 == 0) records.push_back(records[records.size() - 1]);  // an item of the array itself
        if (i % 4096 == 0) records.pop_back();
    }
    CHECK(records.size() == static_cast<size_t>(count));
    for (int i = 0; i < count; i++)
        CHECK(records[i].a == i && records[i].b == 2 * i && records[i].c == 3 * i);
    CHECK(records.back().a == count - 1);
    records.clear();
    CHECK(records.empty() && records.data() == nullptr);
    records.push_back(Record{1, 2, 3});
    CHECK(records[0].c == 3);
}

static void new_items_are_zeros() {
    GrowingArray<int> numbers;
    for (size_t size : {3, 100, 200000, 1000000}) {
        size_t before = numbers.size();
        numbers.resize(size);
        for (size_t i = before; i < size; i++) CHECK(numbers[i] == 0);
        for (size_t i = before; i < size; i++) numbers[i] = 7;
    }
    numbers.resize(10);
    numbers.resize(20);
    CHECK(numbers[9] == 7 && numbers[10] == 0 && numbers[19] == 0);  // also where there were items before
    numbers.resize(300000, numbers[0]);
    CHECK(numbers[20] == 7 && numbers[299999] == 7);
}

static void appends_and_lends() {
    GrowingArray<int> numbers;
    std::vector<int> more{1, 2, 3};
    for (int i = 0; i < 100; i++) numbers.append(more.begin(), more.end());
    BorrowedArray<int> reader;
    reader.borrow(numbers);
    CHECK(reader.size() == 300 && !reader.empty());
    for (int i = 0; i < 100000; i++) numbers.push_back(i);
    CHECK(reader.size() == 100300 && reader[0] == 1 && reader[299] == 3 && reader[100299] == 99999);
    CHECK(reader.data() == numbers.data());
}

int main() {
    grows_and_keeps_what_it_has();
    new_items_are_zeros();
    appends_and_lends();
}
