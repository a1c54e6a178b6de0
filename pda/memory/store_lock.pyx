# distutils: language = c++
"""One lock per automaton: its stores grow while they are read, and callables may switch threads."""

cimport cython
from cpython.exc cimport PyErr_GivenExceptionMatches
from cpython.object cimport PyObject
from cpython.pythread cimport (
    WAIT_LOCK,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_get_thread_ident,
    PyThread_release_lock,
)

import os
from weakref import WeakSet

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.pda.errors import SpoiledError

cdef extern from "Python.h":
    void PyErr_GetExcInfo(PyObject** kind, PyObject** value, PyObject** trace) noexcept
    void Py_XDECREF(PyObject* object) noexcept


@cython.final
cdef class StoreLock:
    """Hold it during every call that steps or makes masks. Cost: a comparison when it is free.

    It is taken and given by threads that hold the interpreter's lock, so the owner is just a number. The
    thread inside may release that lock meanwhile: what is finished can then be read where its call counts
    its work (``may_read``), since nothing is half changed there.
    Locks of the interpreter read the clock whenever they are taken; one is used only if there is
    something to wait for.

    Where memory runs out in the middle of a change, nobody can tell how far it got: the lock is spoiled
    then, and never taken again. So every change of a store is inside, and ends with ``give(False)`` if it did
    not come to its end.

    A forked process lacks the other threads. What one of them was changing is spoiled there.

    Raises: StackmaskError if the thread inside asks again: an action or resolver used its own matcher.
        SpoiledError if it is spoiled.
    """

    def __cinit__(self, WorkMeter meter=None):
        self.meter = WorkMeter() if meter is None else meter
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError()
        # what sleeps on it waits for a release
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.owner = 0
        self.waiting = 0
        self.woken = False
        self.spoiled = False
        LOCKS.add(self)

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    cdef int take(self, WorkAccount account) except -1:
        """Enter. What is done inside is charged to ``account``; None: to nobody, without a limit."""
        cdef unsigned long me = <unsigned long>PyThread_get_thread_ident()
        if self.owner or self.woken:
            if self.owner == me:
                raise StackmaskError(
                    "an action or resolver must not use a matcher or compiler of its own store"
                )
            # who was woken is next: else the thread that leaves, and comes again, would always be faster
            self.waiting += 1
            while True:
                with nogil:
                    PyThread_acquire_lock(self.lock, WAIT_LOCK)
                self.woken = False
                if not self.owner:
                    break
            self.waiting -= 1
        if self.spoiled:
            self.wake()
            raise SpoiledError()
        self.owner = me
        self.meter.open(account)
        return 0

    cdef void give(self, bint done) noexcept:
        """Leave. Call it in a ``finally``, with whether its ``try`` was completed.

        Allocates no memory: the lock must be released even if there is none left.
        """
        if not done and memory_ran_out():  # mutant: spoiled
            self.spoiled = True
        self.meter.close()
        self.owner = 0
        self.wake()

    cdef void charge_to(self, WorkAccount account) noexcept:
        """Charge what follows to another request. Hold the lock."""
        self.meter.close()
        self.meter.open(account)

    cdef bint is_held(self) noexcept:
        """Tell whether another thread is inside."""
        return self.owner != 0 and self.owner != <unsigned long>PyThread_get_thread_ident()

    cdef bint may_read_inside(self) except -1:
        """Do what ``may_read`` does where a thread is inside."""
        if not self.is_held():
            return False
        self.meter.settle()
        return True

    cdef void wake(self) noexcept:
        if self.waiting and not self.woken:
            # it comes next
            self.woken = True
            PyThread_release_lock(self.lock)

    def renew_in_child(self):
        """Make the lock usable in a forked process."""
        if self.waiting:
            # who waits does not exist; nor does a release that they were promised
            self.lock = PyThread_allocate_lock()
            if self.lock != NULL:
                PyThread_acquire_lock(self.lock, WAIT_LOCK)
            self.waiting = 0
        self.woken = False
        if self.is_held():
            self.spoiled = True
            self.meter.forget_call()
            self.owner = 0
        self.meter.readers = 0

    def is_taken(self):
        """Tell whether another thread is inside."""
        return self.is_held()

    def enter(self, WorkAccount account):
        """Enter from Python; ``leave`` in a ``finally``."""
        self.take(account)

    def leave(self, bint done):
        """Leave, and tell whether the work came to its end."""
        self.give(done)

    def __enter__(self):
        self.take(None)
        return self

    def __exit__(self, kind, value, trace):
        self.give(kind is None)


cdef bint memory_ran_out() noexcept:
    """Tell whether the current error is a MemoryError. Allocates no memory."""
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* trace
    cdef bint found
    PyErr_GetExcInfo(&kind, &value, &trace)
    # one that cannot be seen has not been built, for want of memory
    found = kind == NULL or kind == <PyObject*>None or PyErr_GivenExceptionMatches(
        <object>kind, MemoryError
    )
    Py_XDECREF(kind)
    Py_XDECREF(value)
    Py_XDECREF(trace)
    return found


LOCKS = WeakSet()


def renew_locks():
    """Make all locks usable in a forked process."""
    for lock in list(LOCKS):
        lock.renew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_locks)
