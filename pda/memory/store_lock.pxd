from cpython.pythread cimport PyThread_type_lock


cdef class StoreLock:
    cdef PyThread_type_lock lock        # what waiting threads sleep on
    cdef long waiting                   # so many of them
    cdef bint woken                     # one was woken, and has not checked the lock yet
    cdef unsigned long owner            # the thread inside, or 0
    cdef unsigned long takes            # how often it was taken
    cdef readonly bint spoiled          # memory ran out inside: what it guards may be half changed

    cdef int take(self) except -1
    cdef void give(self, bint done) noexcept
    cdef void wake(self) noexcept
