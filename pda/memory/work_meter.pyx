# distutils: language = c++
"""Work: what requests do, in units that are the same on every machine and at any load.

One unit is a step of about ten nanoseconds: a term looked up, a node of the vocabulary visited, a few words
of a mask. Loops whose length a request decides count their units. Every 100,000 units (about a millisecond)
there is a check: the request has units left, nobody cancelled it, no signal came, the call is not too long on
the clock. The check also lets other threads of the interpreter run.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals

from time import monotonic

from stackmask.pda.errors import BudgetError, CancelledError

cdef double YIELD_SECONDS = 0.005   # the switch interval of the interpreter


@cython.final
cdef class WorkAccount:
    """The work that one request may still do, over all its calls. Safe to cancel from another thread.

    ``event``: like ``threading.Event``; cancels as well, once it is set.
    """

    def __cinit__(self, allowance, spent=0, event=None):
        self.allowance = min(allowance, ENDLESS)
        self.left = self.allowance - min(spent, self.allowance)
        self.most_per_call = 0
        self.cancelled = False
        self.event = event

    def grant(self, units):
        """Allow some more units, and one call to use all of these."""
        self.left = min(max(self.left, 0) + units, ENDLESS)
        self.most_per_call = max(self.most_per_call, units)

    def cancel(self):
        """End the call that works for this request at its next check, and later ones that need work."""
        self.cancelled = True


@cython.final
cdef class WorkMeter:
    """Counts the work of the calls of one store, which hold its lock one after the other.

    Raises (from ``spend``): BudgetError if the request has no units left, or the call takes too long;
        CancelledError; what a signal handler raises. All structures are as they would be after an interrupt.
    """

    def __cinit__(self, max_call=None, double max_seconds=1e9):
        self.max_call = ENDLESS if max_call is None else max_call
        self.max_seconds = max_seconds
        self.done = 0
        self.credit = self.granted = 0
        self.yielded = 0.0
        self.open(None)

    def charge(self, int64_t units):
        """Count some work that was done in Python."""
        self.spend(units)

    cdef int check(self) except -1:
        """Settle what was done, and look whether the call may go on."""
        cdef int64_t used = self.granted - self.credit
        cdef double now
        self.done += used
        self.call_left -= used
        # until it is known that the call may go on, the next unit comes here again
        self.granted = self.credit = 0
        if self.account is not None:
            self.account.left -= used
            if self.account.event is not None and self.account.event.is_set():
                self.account.cancelled = True
            if self.account.cancelled:
                raise CancelledError()
            if self.call_left <= 0:
                raise BudgetError("max_work", self.account.allowance, "units of work of one request")
        PyErr_CheckSignals()
        now = monotonic()
        if not self.timed:
            self.timed = True
            self.since = now
        elif now - self.since > self.max_seconds:
            raise BudgetError("max_seconds", self.max_seconds, "seconds of work in one call")
        if now - self.yielded > YIELD_SECONDS:
            with nogil:
                pass
            self.yielded = monotonic()
        self.granted = self.credit = min(<int64_t>CHECK_EVERY, self.call_left)
        return 0
