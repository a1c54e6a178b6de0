# Work: what requests do, in units that are the same on every machine. See work_meter.pyx.
from libc.stdint cimport int64_t


cdef extern from *:
    """
    #define STACKMASK_ENDLESS_WORK ((int64_t)1 << 60)
    """
    const int64_t ENDLESS "STACKMASK_ENDLESS_WORK"

cdef enum:
    CHECK_EVERY = 100_000       # units, about a millisecond


cdef class WorkAccount:
    cdef readonly int64_t allowance     # units that the request may have at most
    cdef readonly int64_t left          # units that it may still do; below 0: it did a little more
    cdef readonly bint cancelled
    cdef object event                   # cancels when it is set; or None
    cdef int64_t most_per_call          # units that one call may use, where more were granted than usual


cdef class WorkMeter:
    cdef int64_t credit         # units until the next check
    cdef int64_t granted        # units from the last check to the next one
    cdef int64_t call_left      # units that the call under way may still do
    cdef int64_t max_call       # of one call
    cdef double max_seconds     # of one call
    cdef double since           # when the first check of the call was
    cdef double yielded         # when the interpreter's lock was last released
    cdef bint timed             # the call had a check
    cdef WorkAccount account    # whom the work is charged to, or None
    cdef readonly int64_t done  # units of all calls

    cdef int check(self) except -1

    cdef inline void open(self, WorkAccount account) noexcept:
        # begin a call; without an account, its work is not limited
        self.account = account
        self.call_left = ENDLESS
        if account is not None:
            self.call_left = min(max(self.max_call, account.most_per_call), account.left)
        self.timed = False
        self.granted = self.credit = min(<int64_t>CHECK_EVERY, max(self.call_left, <int64_t>0))

    cdef inline void close(self) noexcept:
        # end a call; allocates no memory
        cdef int64_t used = self.granted - self.credit
        self.done += used
        if self.account is not None:
            self.account.left -= used
            self.account = None
        self.granted = self.credit = CHECK_EVERY
        self.call_left = ENDLESS

    cdef inline int spend(self, int64_t units) except -1:
        """Count some work. Every loop whose length a request decides calls it."""
        self.credit -= units
        if self.credit < 0:
            self.check()
        return 0
