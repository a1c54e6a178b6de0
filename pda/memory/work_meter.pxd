# Work: what requests do, in units that are the same on every machine.
from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int64_t

from stackmask.pda.ids cimport FAILED


cdef extern from "work_meter.h" nogil:
    const double PATIENCE "stackmask::PATIENCE"
    const int64_t ENDLESS "stackmask::ENDLESS"

cdef extern from "Python.h" nogil:
    ctypedef struct PyThreadState

cdef enum:
    CHECK_EVERY = 100_000       # units, about a millisecond
    FIRST_CHECK = 20_000        # a call that takes longer lets go of the interpreter's lock, if it may
    RESERVE = 8                 # this part of what a request may do and keep is left for its end


cdef struct Pause:
    # what the call was allowed before Python was called in it
    bint may_release
    bint running


cdef class WorkAccount:
    cdef readonly int64_t allowance     # units that the request may have at most
    cdef readonly int64_t left          # units that it may still do; below 0: it did a little more
    cdef readonly int64_t memory        # bytes of states that the request may make at most
    cdef readonly int64_t memory_left
    cdef int64_t max_terms, terms_left      # of these, new in the store
    cdef int64_t max_states, states_left    # semantic states
    cdef int is_cancelled               # written by other threads
    cdef double patience                # seconds that it still waits for other requests
    cdef bint moved                     # to another store: it has begun anew
    cdef object event                   # cancels when it is set; or None
    cdef int64_t most_per_call          # units that one call may use, where more were granted than usual


cdef class WorkMeter:
    cdef int64_t credit         # units until the next check
    cdef int64_t granted        # units from the last check to the next one
    cdef int64_t call_left      # units that the call under way may still do
    cdef int64_t max_call       # of one call
    cdef int64_t kept           # bytes that the call under way leaves for the end of the request
    cdef double max_seconds     # of one call
    cdef double since           # when the first check of the call was
    cdef double looked          # when signals were last looked at
    cdef bint timed             # the call had a check
    cdef bint may_release       # the call may let go of the interpreter's lock
    cdef bint running           # it has: what it changes must not be read. Written with that lock only
    cdef unsigned long runner   # its thread then
    cdef PyThreadState* released    # and the state of that
    cdef int readers            # threads that wait until they may read
    cdef WorkAccount account    # whom the work is charged to, or None
    cdef readonly int64_t done  # units of all calls
    cdef int64_t most_units     # work that can go on later ends where `units` shows more; see `set_limit`
    cdef bint is_over           # it ended so
    cdef bint has_moved         # some of it was done within the limit, and stays
    cdef public int64_t slices  # masks that were not ready when their work ended so

    cdef int refuse_memory(self, int64_t n) except FAILED nogil
    cdef int check(self) except FAILED nogil
    cdef int ask_event(self) except FAILED with gil
    cdef int look(self) except FAILED nogil
    cdef void forget_call(self) noexcept
    cdef void reclaim(self) noexcept nogil
    cdef void pause(self, Pause* before) noexcept
    cdef void resume(self, Pause* before) noexcept
    cdef int settle(self) except FAILED
    cdef bint keep_reserve(self) noexcept
    cdef void open_reserve(self) noexcept

    cdef inline void open(self, WorkAccount account) noexcept:
        # begin a call; without an account, its work is not limited
        self.account = account
        self.call_left = ENDLESS
        if account is not None:
            self.call_left = min(max(self.max_call, account.most_per_call), account.left)
        self.timed = False
        self.granted = self.credit = min(<int64_t>FIRST_CHECK, max(self.call_left, <int64_t>0))
        self.set_limit(ENDLESS, True)

    cdef inline void close(self) noexcept:
        # end a call; allocates no memory
        cdef int64_t used = self.granted - self.credit
        self.done += used
        if self.account is not None:
            self.account.left -= used
            self.account = None
        self.granted = self.credit = CHECK_EVERY
        self.call_left = ENDLESS

    cdef inline int64_t units(self) noexcept nogil:
        # of all calls, the one under way included
        return self.done + self.granted - self.credit

    cdef inline int64_t units_until(self, int64_t until) noexcept nogil:
        # how many units are left until `units` shows some number
        return ENDLESS if until >= ENDLESS else until - self.units()

    cdef inline void set_limit(self, int64_t units, bint has_moved) noexcept nogil:
        # end work that can go on later after so much from now on; not before some of it was done, or `has_moved`
        self.most_units = ENDLESS if units >= ENDLESS else self.units() + units
        self.is_over = False
        self.has_moved = has_moved

    cdef inline bint is_spent(self, int64_t units=0) noexcept nogil:
        # return whether less than this is left of the limit: such work is over then, and makes nothing
        self.is_over = self.is_over or (self.has_moved and self.units() + units > self.most_units)
        return self.is_over

    cdef inline void let_release(self) noexcept nogil:
        # what follows runs without the interpreter's lock, if it takes long; until `reclaim`
        self.may_release = True

    cdef inline int spend(self, int64_t units) except FAILED nogil:
        """Count some work. Every loop whose length depends on a request calls this."""
        self.credit -= units
        if self.credit < 0:
            self.check()
        return 0

    cdef inline int hold(self, int64_t n) except FAILED nogil:
        """Count bytes that exist as long as the store, or the family of matchers."""
        if self.account is not None:
            self.account.memory_left -= n
            if self.account.memory_left < self.kept:
                self.refuse_memory(n)
        return 0

    cdef inline bint may_add_term(self, bint is_full) noexcept nogil:
        """Count a new term. Without a request to charge, ``is_full`` reports the limit."""
        if self.account is None:
            return not is_full
        self.account.terms_left -= 1
        return self.account.terms_left >= 0

    cdef inline bint may_add_state(self, bint is_full) noexcept nogil:
        """Count a new semantic state. Without a request to charge, ``is_full`` reports the limit."""
        if self.account is None:
            return not is_full
        self.account.states_left -= 1
        return self.account.states_left >= 0


cdef class StoreLock:
    cdef PyThread_type_lock lock        # what waiting threads sleep on
    cdef long waiting                   # so many of them
    cdef bint woken                     # one was woken, and has not checked the lock yet
    cdef unsigned long owner            # the thread inside, or 0
    cdef readonly WorkMeter meter       # counts the work of the thread inside
    cdef readonly bint spoiled          # memory ran out inside: what it guards may be half changed
    cdef object __weakref__

    cdef int take(self, WorkAccount account) except FAILED
    cdef void charge_to(self, WorkAccount account) noexcept
    cdef bint is_held(self) noexcept
    cdef bint may_read_inside(self) except FAILED
    cdef void give(self, bint done) noexcept
    cdef void wake(self) noexcept

    cdef inline bint may_read(self) except FAILED:
        """Return whether finished data may be read now without taking the lock.

        They may if no thread is inside, or another thread is at a check of its work, until this thread
        releases the GIL. Waits for this. Returns False if this thread itself is inside.
        """
        return self.owner == 0 or self.may_read_inside()
