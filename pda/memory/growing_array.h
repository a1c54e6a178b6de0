// Arrays that grow without being copied, for what a store keeps of every state.
//
// The arrays of a store grow for as long as it lives. Where a std::vector doubles, it takes fresh memory,
// touches all of it and copies: milliseconds in the middle of one mask once an array has some megabytes. Here
// a large array is a mapping of its own, and growing it moves no byte (mremap): a fill pays for what it adds.
// Fresh memory costs some microseconds for each page of 4 KB. So the mapping of an array that has megabytes
// begins where a page of 2 MB does, and has such pages where the system gives them to all.
// The code does not request them: the first touch of one may take a fill 10 ms on a virtual machine.
//
// Items are plain structs: they are moved as bytes, and new ones are zeros.
#ifndef STACKMASK_GROWING_ARRAY_H
#define STACKMASK_GROWING_ARRAY_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace stackmask {

constexpr size_t MAPPED_FROM = 1 << 19;  // bytes from which memory is a mapping of its own
constexpr size_t HUGE_PAGE = 1 << 21;    // a large page; mappings from there on are whole ones
// arrays that are read at the same index would share lines of the cache if all began with a page
constexpr size_t CACHE_LINE = 64;

// The bytes that memory of some bytes has.
inline size_t rounded(size_t bytes) {
#if defined(__linux__)
    if (bytes >= HUGE_PAGE) return (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    if (bytes >= MAPPED_FROM) return (bytes + 4095) & ~(size_t)4095;
#endif
    return bytes;
}

#if defined(__linux__)
// Where the system gives large pages to all, they lie at multiples of their size, and not every kernel
// puts a mapping there.
inline void* mapping(size_t bytes) {
    const int rights = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    void* made = mmap(nullptr, bytes, rights, kind, -1, 0);
    if (made == MAP_FAILED) return nullptr;
    if (bytes < HUGE_PAGE) return made;
    if (reinterpret_cast<uintptr_t>(made) & (HUGE_PAGE - 1)) {
        munmap(made, bytes);
        made = mmap(nullptr, bytes + HUGE_PAGE, rights, kind, -1, 0);
        if (made == MAP_FAILED) return nullptr;
        char* begin = static_cast<char*>(made);
        size_t before = -reinterpret_cast<uintptr_t>(made) & (HUGE_PAGE - 1);
        if (before) munmap(begin, before);
        if (before < HUGE_PAGE) munmap(begin + before + bytes, HUGE_PAGE - before);
        made = begin + before;
    }
    return made;
}
#endif

inline void* zeroed(size_t bytes) {
#if defined(__linux__)
    if (bytes >= MAPPED_FROM) return mapping(rounded(bytes));
#endif
    return std::calloc(1, bytes);
}

inline void give_back(void* memory, size_t bytes) {
#if defined(__linux__)
    if (bytes >= MAPPED_FROM) {
        if (memory != nullptr) munmap(memory, rounded(bytes));
        return;
    }
#endif
    std::free(memory);
}

// ``shift``: bytes that are left free at the beginning when memory becomes a mapping
inline void* enlarged(void* memory, size_t bytes, size_t wanted, size_t shift) {
#if defined(__linux__)
    if (wanted >= MAPPED_FROM) {
        void* moved;
        bytes = bytes >= MAPPED_FROM ? rounded(bytes) : bytes;
        wanted = rounded(wanted);
        if (bytes >= MAPPED_FROM) {
            if (wanted < HUGE_PAGE) {
                moved = mremap(memory, bytes, wanted, MREMAP_MAYMOVE);
                return moved == MAP_FAILED ? nullptr : moved;
            }
            if (bytes >= HUGE_PAGE && mremap(memory, bytes, wanted, 0) == memory) return memory;
            void* target = mapping(wanted);
            if (target == nullptr) return nullptr;
            moved = mremap(memory, bytes, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, target);
            if (moved == MAP_FAILED) {
                munmap(target, wanted);
                return nullptr;
            }
            return moved;
        }
        moved = mapping(wanted);
        if (moved != nullptr && bytes) {
            std::memcpy(static_cast<char*>(moved) + shift, memory, bytes);
            std::free(memory);
        }
        return moved;
    }
#endif
    void* moved = std::realloc(memory, wanted);
    if (moved != nullptr && shift) std::memmove(static_cast<char*>(moved) + shift, moved, bytes);
    return moved;
}

template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable<T>::value, "items are moved as bytes");
    static_assert(sizeof(T) < 2048, "the last page of a mapping holds an item");
    static const size_t FIRST = 16;  // items
    T* items = nullptr;
    size_t count = 0, room = 0;
    size_t shift = 0;  // bytes before the first item, in a mapping

    size_t bytes() const { return room * sizeof(T) + shift; }
    void* memory() { return reinterpret_cast<char*>(items) - shift; }

    void make_room(size_t wanted) {
        size_t more = room ? 2 * room : FIRST;
        while (more < wanted) more *= 2;
        size_t before = shift;
        if (!before && more * sizeof(T) >= MAPPED_FROM) {
            // the address of the object serves as a random number
            before = CACHE_LINE * (1 + (reinterpret_cast<uintptr_t>(this) >> 3) % 63);
        }
        size_t whole = more * sizeof(T) + before;
        void* moved = enlarged(memory(), bytes(), whole, before - shift);
        if (moved == nullptr) throw std::bad_alloc();
        items = reinterpret_cast<T*>(static_cast<char*>(moved) + before);
        room = (rounded(whole) - before) / sizeof(T);
        shift = before;
    }

  public:
    GrowingArray() {}
    GrowingArray(const GrowingArray&) = delete;
    GrowingArray& operator=(const GrowingArray&) = delete;
    ~GrowingArray() { clear(); }

    size_t size() const { return count; }
    bool empty() const { return count == 0; }
    T* data() { return items; }
    T* begin() { return items; }
    T* end() { return items + count; }
    T& operator[](size_t i) { return items[i]; }
    const T& operator[](size_t i) const { return items[i]; }
    T& back() { return items[count - 1]; }
    void pop_back() { count--; }

    void push_back(const T& item) {
        if (count == room) {
            T kept = item;  // it may lie in the array
            make_room(count + 1);
            items[count++] = kept;
            return;
        }
        items[count++] = item;
    }

    void resize(size_t wanted) {
        if (wanted > room) make_room(wanted);
        if (wanted > count) {
            std::memset(static_cast<void*>(items + count), 0, (wanted - count) * sizeof(T));
        }
        count = wanted;
    }

    void resize(size_t wanted, const T& item) {
        T kept = item;
        if (wanted > room) make_room(wanted);
        for (size_t i = count; i < wanted; i++) items[i] = kept;
        count = wanted;
    }

    template <class I>
    void append(I first, I last) {
        size_t more = static_cast<size_t>(last - first);
        if (count + more > room) make_room(count + more);
        for (; first != last; ++first) items[count++] = *first;
    }

    void clear() {
        if (items != nullptr) give_back(memory(), bytes());
        items = nullptr;
        count = room = shift = 0;
    }
};

// A growing array of another object, for readers: one pointer, no memory of its own.
//
// The owner must outlive the reader, and must not move, like the fields of an extension object. An index
// returns a reference into the array of the owner, valid until the owner grows.
template <class T>
class BorrowedArray {
    GrowingArray<T>* owner = nullptr;

  public:
    void borrow(GrowingArray<T>& lent) { owner = &lent; }
    size_t size() const { return owner->size(); }
    bool empty() const { return owner->empty(); }
    T* data() { return owner->data(); }
    T& operator[](size_t i) { return (*owner)[i]; }
};

}  // namespace stackmask

#endif
