from cpython.pythread cimport PyThread_type_lock


cdef class StoreLock:
    cdef PyThread_type_lock lock
    cdef unsigned long owner            # the thread inside, or 0
    cdef unsigned long takes            # how often it was taken

    cdef int take(self) except -1
    cdef void give(self) noexcept
