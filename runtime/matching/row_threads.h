// Threads that share the rows of a batch. They touch no Python object, and sleep between batches.
//
// The caller works too, and takes the rows that no thread has begun: a thread that is slow to wake costs
// nothing, and only those that have begun are waited for. While one batch has the threads, another goes on
// alone. They are made when they are first asked for; a process that was forked makes its own.
#ifndef STACKMASK_ROW_THREADS_H
#define STACKMASK_ROW_THREADS_H

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif

namespace stackmask {

typedef void (*Work)(void* context, size_t first, size_t last);

class RowThreads {
    static const int SPINS = 4096;  // looks at who is inside before the caller sleeps: microseconds

    std::mutex batch;  // held for a whole batch
    std::mutex lock;   // of what follows
    std::condition_variable begun, left;
    int threads = 0;             // that exist
    int wanted = 0;              // that may still join
    std::atomic<int> inside{0};  // that have joined and not left
    Work work = nullptr;
    void* context = nullptr;
    size_t count = 0, chunk = 1;
    std::atomic<size_t> next{0};

    void take_chunks() {
        while (true) {
            size_t first = next.fetch_add(chunk, std::memory_order_relaxed);
            if (first >= count) return;
            work(context, first, first + chunk < count ? first + chunk : count);
        }
    }

    void serve() {
        std::unique_lock<std::mutex> held(lock);
        while (true) {
            begun.wait(held, [this] { return wanted > 0; });
            wanted--;
            inside.fetch_add(1, std::memory_order_relaxed);
            bool others = wanted > 0;
            held.unlock();
            if (others) begun.notify_one();  // to wake a thread takes longer than to copy a few rows
            take_chunks();
            held.lock();
            if (inside.fetch_sub(1, std::memory_order_release) == 1) left.notify_one();
        }
    }

    // Signals are for the threads of the interpreter.
    void add_thread() {
#if !defined(_WIN32)
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
        try {
            std::thread([this] { serve(); }).detach();
            threads++;
        } catch (const std::exception&) {
            // then there are fewer
        }
#if !defined(_WIN32)
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
    }

  public:
    void run(Work what, void* with, size_t items, size_t at_once, int helpers) {
        std::unique_lock<std::mutex> mine(batch, std::try_to_lock);
        if (!mine.owns_lock()) {
            what(with, 0, items);
            return;
        }
        {
            std::lock_guard<std::mutex> held(lock);
            for (int i = threads; i < helpers; i++) add_thread();
            work = what;
            context = with;
            count = items;
            chunk = at_once;
            next.store(0, std::memory_order_relaxed);
            wanted = helpers < threads ? helpers : threads;
        }
        begun.notify_one();
        take_chunks();
        {
            std::lock_guard<std::mutex> held(lock);
            wanted = 0;
        }
        for (int i = 0; i < SPINS && inside.load(std::memory_order_acquire); i++) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
            __builtin_ia32_pause();
#endif
        }
        if (inside.load(std::memory_order_acquire)) {
            std::unique_lock<std::mutex> held(lock);
            left.wait(held, [this] { return inside.load(std::memory_order_acquire) == 0; });
        }
    }
};

// The threads of this process, never given back: they sleep until it ends. Call it with the interpreter's
// lock.
inline RowThreads* row_threads() {
    static RowThreads* made = nullptr;
#if !defined(_WIN32)
    static pid_t maker = 0;
    if (made != nullptr && maker != getpid()) made = nullptr;  // those stayed behind in the parent
    maker = getpid();
#endif
    if (made == nullptr) made = new (std::nothrow) RowThreads();
    return made;
}

}  // namespace stackmask

#endif
