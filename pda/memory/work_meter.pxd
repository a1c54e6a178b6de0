# Work: what requests do, in units that are the same on every machine. See work_meter.pyx.
from libc.stdint cimport int64_t


cdef class WorkAccount:
    cdef readonly int64_t allowance     # units that the request may have at most
    cdef readonly int64_t left          # units that it may still do; below 0: it did a little more
    cdef readonly bint cancelled
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

    cdef void open(self, WorkAccount account) noexcept
    cdef void close(self) noexcept
    cdef int check(self) except -1

    cdef inline int spend(self, int64_t units) except -1:
        """Count some work. Every loop whose length a request decides calls it."""
        self.credit -= units
        if self.credit < 0:
            self.check()
        return 0
