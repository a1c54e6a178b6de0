# distutils: language = c++
"""Work: the computation of requests, in units that are independent of the machine and its load.

One unit is a step of about ten nanoseconds: the look-up of a term, the visit of a node of the vocabulary, a
few words of a mask. Loops whose length depends on a request count their units. Every 100,000 units (about a
millisecond) a check tests whether the request has units left, was not cancelled, no signal has arrived, and
the call is within its time limit. The first check of a call that only computes (``let_release``) releases the
GIL, after about 200 microseconds; other calls release it briefly every few milliseconds. A check also lets
waiting threads read the data that the call changes.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals, PyErr_GivenExceptionMatches
from cpython.object cimport PyObject
from cpython.pythread cimport (
    WAIT_LOCK,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
)

from stackmask.pda.memory.clock cimport atomic_read, atomic_write, seconds, sleep_a_moment

import os
from weakref import WeakSet

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.pda.errors import BudgetError, CancelledError, SpoiledError


cdef extern from "Python.h":
    int PyGILState_Check() noexcept nogil
    unsigned long PyThread_get_thread_ident() noexcept nogil
    PyThreadState* PyEval_SaveThread() noexcept nogil
    void PyEval_RestoreThread(PyThreadState* state) noexcept nogil

cdef enum:
    REST_TURNS = 100                # moments that a call rests at most

MEMORY_TEXT = "bytes of states of one request"

cdef double YIELD_SECONDS = 0.005   # the switch interval of the interpreter
cdef double SIGNAL_SECONDS = 0.05   # between looks at signals, where that lock was released


@cython.final
cdef class WorkAccount:
    """The remaining work and memory of one request, over all its calls. Safe to cancel from another thread.

    ``event``: like ``threading.Event``; once set, it also cancels. ``limits``: an object with ``max_memory``,
    ``max_terms`` and ``max_semantic_states``, which bound the data that the request adds to the store; data
    of earlier requests are free.
    """

    def __cinit__(self, allowance, spent=0, event=None, limits=None):
        self.allowance = min(allowance, ENDLESS)
        self.left = self.allowance - min(spent, self.allowance)
        self.memory = self.max_terms = self.max_states = ENDLESS
        if limits is not None:
            self.memory = min(limits.max_memory, ENDLESS)
            self.max_terms = min(limits.max_terms, ENDLESS)
            self.max_states = min(limits.max_semantic_states, ENDLESS)
        self.memory_left = self.memory
        self.terms_left = self.max_terms
        self.states_left = self.max_states
        self.most_per_call = self.allowance // 4 * 3  # also where it is more than the store allows
        self.is_cancelled = False
        self.patience = PATIENCE
        self.moved = False
        self.event = event

    @property
    def cancelled(self):
        """Whether the request was cancelled."""
        return bool(self.is_cancelled)

    def grant(self, units):
        """Grant more units, and let one call use all of them."""
        self.left = min(max(self.left, 0) + units, ENDLESS)
        self.most_per_call = max(self.most_per_call, units)

    def grant_memory(self, n):
        """Grant more bytes."""
        self.memory_left = min(self.memory_left + n, ENDLESS)

    def begin(self):
        """Return the account of a new matcher. Reading and compiling were charged to this one."""
        cdef WorkAccount account = WorkAccount(self.allowance)
        account.memory = self.memory
        account.max_terms = self.max_terms
        account.max_states = self.max_states
        account.restart(self)
        account.moved = False
        return account

    def restart(self, WorkAccount compiled not None):
        """Reset to the state after compiling: the request starts again in another store."""
        self.left = self.allowance - min(compiled.allowance - compiled.left, self.allowance)
        self.memory_left = self.memory - (compiled.memory - compiled.memory_left)
        self.terms_left = self.max_terms - (compiled.max_terms - compiled.terms_left)
        self.states_left = self.max_states - (compiled.max_states - compiled.states_left)
        self.moved = True

    def ease(self, WorkAccount other not None):
        """Raise the allowance to the allowance of another account of the same grammar."""
        cdef int64_t spent = min(self.allowance - self.left, other.allowance - other.left)
        self.allowance = max(self.allowance, other.allowance)
        self.left = self.allowance - spent
        self.most_per_call = max(self.most_per_call, other.most_per_call)
        self.memory_left = max(self.memory_left, other.memory_left)
        self.terms_left = max(self.terms_left, other.terms_left)
        self.states_left = max(self.states_left, other.states_left)

    def hold(self, n):
        """Count bytes allocated in Python.

        Raises: BudgetError if the bytes exceed the limit of the request.
        """
        self.memory_left -= n
        if self.memory_left < 0:
            raise BudgetError("max_memory", self.memory, MEMORY_TEXT)

    def cancel(self):
        """End the running call of this request at its next check, and later calls that need work."""
        atomic_write(self.is_cancelled, True)


@cython.final
cdef class WorkMeter:
    """Counts the work of the calls of one store, which hold its lock in turn.

    Raises (from ``spend``): BudgetError if the request has no units left, or the call takes too long;
        CancelledError; exceptions of signal handlers. All structures stay consistent.
    """

    def __cinit__(self, max_call=None, double max_seconds=1e9):
        self.max_call = ENDLESS if max_call is None else max_call
        self.max_seconds = max_seconds
        self.done = self.slices = 0
        self.credit = self.granted = 0
        self.looked = 0.0
        self.readers = 0
        self.kept = 0
        self.may_release = self.running = False
        self.open(None)

    def charge(self, int64_t units):
        """Count some work done in Python."""
        self.spend(units)

    cdef int refuse_memory(self, int64_t n) except FAILED nogil:
        """Raise the error for a request that would exceed its memory limit by an allocation."""
        self.account.memory_left += n
        raise BudgetError("max_memory", self.account.memory, MEMORY_TEXT)

    cdef int check(self) except FAILED nogil:
        """Account for the work done, and check whether the call may continue."""
        cdef int64_t used = self.granted - self.credit
        cdef double now
        self.done += used
        self.call_left -= used
        # until it is known that the call may go on, the next unit comes here again
        self.granted = self.credit = 0
        if self.account is not None:
            self.account.left -= used
            if self.account.event is not None:
                self.ask_event()
            if atomic_read(self.account.is_cancelled):
                raise CancelledError()
            if self.call_left <= 0:
                raise BudgetError("max_work", self.account.allowance, "units of work of one request")
        now = seconds()
        if not self.timed:
            self.timed = True
            self.since = now
            # not at once: a look lets go of the interpreter, too briefly for those who wait, and the
            # 5 ms after which they ask for it begin again
            if self.looked == 0.0:
                self.looked = now
        elif now - self.since > self.max_seconds:
            raise BudgetError("max_seconds", self.max_seconds, "seconds of work in one call")
        if self.may_release and not self.running:
            self.runner = PyThread_get_thread_ident()
            self.running = True
            self.released = PyEval_SaveThread()
        if (
            now - self.looked > (YIELD_SECONDS if PyGILState_Check() else SIGNAL_SECONDS)
            or self.running and atomic_read(self.readers)
        ):
            self.look()
        self.granted = self.credit = min(<int64_t>CHECK_EVERY, self.call_left)
        return 0

    cdef int ask_event(self) except FAILED with gil:
        """Cancel the request if its event is set."""
        if self.account.event.is_set():
            self.account.cancel()
        return 0

    cdef int look(self) except FAILED nogil:
        """Let signal handlers run, and threads that wait to run or to read. All data are consistent now."""
        cdef Pause before
        cdef int turns = 0
        with gil:
            self.pause(&before)
            try:
                PyErr_CheckSignals()
                with nogil:
                    pass
                while self.readers and turns < REST_TURNS:
                    turns += 1
                    with nogil:
                        sleep_a_moment()
            finally:
                self.resume(&before)
        self.looked = seconds()
        return 0

    cdef void reclaim(self) noexcept nogil:
        """Reacquire the GIL, if the call has released it."""
        self.may_release = False
        if self.running:
            PyEval_RestoreThread(self.released)
            self.running = False

    cdef int settle(self) except FAILED:
        """Wait until the data of the store may be read, for up to a millisecond.

        Raises: StackmaskError if the running call belongs to this thread, as in a finalizer inside the call.
        """
        if not self.running:
            return 0
        if self.runner == PyThread_get_thread_ident():
            raise StackmaskError("a matcher or compiler must not be used in the middle of a call of its own")
        atomic_write(self.readers, self.readers + 1)
        while self.running:
            with nogil:
                sleep_a_moment()
        atomic_write(self.readers, self.readers - 1)
        return 0

    cdef bint keep_reserve(self) noexcept:
        """Reserve part of the request's work and memory. Return False if only the reserve is left.

        The caller must release the reserve again. The units up to the next check are ignored.
        """
        cdef WorkAccount account = self.account
        if account is None:
            return True
        self.call_left = min(self.call_left, account.left - account.allowance // RESERVE)
        self.kept = account.memory // RESERVE
        return self.call_left > 0 and account.memory_left >= self.kept

    cdef void open_reserve(self) noexcept:
        """Let the call use the reserve, and restart its time limit."""
        self.kept = 0
        if self.account is not None:
            self.call_left = min(self.account.left, self.account.allowance // RESERVE)
            self.timed = False

    cdef void forget_call(self) noexcept:
        """Forget a call whose thread does not exist in a forked process."""
        self.may_release = self.running = False
        self.readers = 0
        self.close()

    cdef void pause(self, Pause* before) noexcept:
        """Begin to run Python code in a call, holding the GIL."""
        before.may_release = self.may_release
        before.running = self.running
        self.may_release = self.running = False

    cdef void resume(self, Pause* before) noexcept:
        """Continue after ``pause``."""
        self.may_release = before.may_release
        self.running = before.running


# ------------------------------------------------------------------------------------------------
# One lock per automaton: its stores grow while they are read, and callables may switch threads.
# ------------------------------------------------------------------------------------------------


cdef extern from "Python.h":
    void PyErr_GetExcInfo(PyObject** kind, PyObject** value, PyObject** trace) noexcept
    void Py_XDECREF(PyObject* object) noexcept


@cython.final
cdef class StoreLock:
    """The lock of a store, held during every call that steps or computes masks. Cost: a comparison if free.

    Threads that acquire or release the lock hold the GIL, so the owner is just a number. The thread inside
    may release the GIL: finished data can then be read at the checks of its call (``may_read``), where all
    data are consistent. Python's locks read the clock at each acquisition, so one is used only for waiting.

    If memory runs out in the middle of a change, its progress is unknown: the lock is then spoiled, and never
    acquired again. So every change of a store happens inside, and ends with ``give(False)`` if it is
    incomplete.

    A forked process lacks the other threads. Data that another thread was changing are spoiled there.

    Raises: StackmaskError if the thread inside enters again: an action or resolver used its own matcher.
    SpoiledError if the lock is spoiled.
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

    cdef int take(self, WorkAccount account) except FAILED:
        """Enter. ``account``: charged with the work inside; None: no request is charged, without a limit."""
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
        """Leave. Call this in a ``finally``. ``done``: whether the ``try`` was completed.

        This allocates no memory, since the lock must be released even without memory.
        """
        if not done and memory_ran_out():  # mutant: spoiled
            self.spoiled = True
        self.meter.close()
        self.owner = 0
        self.wake()

    cdef void charge_to(self, WorkAccount account) noexcept:
        """Charge subsequent work to another request. The caller holds the lock."""
        self.meter.close()
        self.meter.open(account)

    cdef bint is_held(self) noexcept:
        """Return whether another thread is inside."""
        return self.owner != 0 and self.owner != <unsigned long>PyThread_get_thread_ident()

    cdef bint may_read_inside(self) except FAILED:
        """As ``may_read``, if a thread is inside."""
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
        """Return whether another thread is inside."""
        return self.is_held()

    def enter(self, WorkAccount account):
        """Enter from Python. Call ``leave`` in a ``finally``."""
        self.take(account)

    def leave(self, bint done):
        """Leave, and return whether the work was completed."""
        self.give(done)

    def __enter__(self):
        self.take(None)
        return self

    def __exit__(self, kind, value, trace):
        self.give(kind is None)


cdef bint memory_ran_out() noexcept:
    """Return whether the current error is a MemoryError. This allocates no memory."""
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
