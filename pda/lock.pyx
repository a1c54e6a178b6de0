# distutils: language = c++
"""One lock per automaton: its stores grow while they are read, and callables may switch threads."""

cimport cython
from cpython.pythread cimport (
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
    """Hold it during every call that steps or makes masks. Cost: a comparison when it is free.

    It is taken and given by threads that hold the interpreter's lock, so who is inside is a plain number.
    Locks of the interpreter read the clock whenever they are taken; one is asked only where there is
    something to wait for.

    Raises: StackmaskError if the thread inside asks again: an action or resolver used its own matcher.
    """

    def __cinit__(self):
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError()
        # what sleeps on it waits for a release
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.owner = 0
        self.takes = 0
        self.waiting = 0
        self.woken = False

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    cdef int take(self) except -1:
        cdef unsigned long me = <unsigned long>PyThread_get_thread_ident()
        if self.owner:
            if self.owner == me:
                raise StackmaskError(
                    "an action or resolver must not use a matcher or compiler of its own store"
                )
            self.waiting += 1
            while self.owner:
                with nogil:
                    PyThread_acquire_lock(self.lock, WAIT_LOCK)
                self.woken = False
            self.waiting -= 1
        self.owner = me
        self.takes += 1
        return 0

    cdef void give(self) noexcept:
        self.owner = 0
        if self.waiting and not self.woken:
            # one of them looks again; it may find that another thread was faster
            self.woken = True
            PyThread_release_lock(self.lock)

    def __enter__(self):
        self.take()
        return self

    def __exit__(self, *_):
        self.give()
