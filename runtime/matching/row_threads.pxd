# Threads that share the rows of a batch. See row_threads.h.
cdef extern from "row_threads.h":
    ctypedef void (*Work "stackmask::Work")(void* context, size_t first, size_t last) noexcept nogil

    cdef cppclass RowThreads "stackmask::RowThreads":
        void run(Work work, void* context, size_t items, size_t at_once, int helpers) nogil

    RowThreads* row_threads "stackmask::row_threads"() noexcept
