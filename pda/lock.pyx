# distutils: language = c++
"""One lock per automaton: its stores grow while they are read, and callables may switch threads."""

cimport cython
from cpython.pythread cimport (
    NOWAIT_LOCK,
    WAIT_LOCK,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_get_thread_ident,
    PyThread_release_lock,
)

from stackmask.grammar.diagnostics import StackmaskError


@cython.final
cdef class StoreLock:
    """Hold it during every call that steps or makes masks. Cost: tens of nanoseconds when it is free.

    Raises: StackmaskError if the thread inside asks again: an action or resolver used its own matcher.
    """

    def __cinit__(self):
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError()
        self.owner = 0
        self.takes = 0

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    cdef int take(self) except -1:
        cdef unsigned long me = <unsigned long>PyThread_get_thread_ident()
        if self.owner == me:
            raise StackmaskError("an action or resolver must not use a matcher or compiler of its own store")
        if not PyThread_acquire_lock(self.lock, NOWAIT_LOCK):
            with nogil:
                PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.owner = me
        self.takes += 1
        return 0

    cdef void give(self) noexcept:
        self.owner = 0
        PyThread_release_lock(self.lock)

    def __enter__(self):
        self.take()
        return self

    def __exit__(self, *_):
        self.give()
