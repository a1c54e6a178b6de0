"""The account of the work of one request in the front ends.

All their loops call ``spend``, so it is compiled.
"""

cimport cython
from cpython.contextvars cimport PyContextVar_Get
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t
from stackmask.grammar.ir.failures cimport FAILED

from contextvars import ContextVar
from time import monotonic

from stackmask.grammar.source.diagnostics import BudgetError, CancelledError

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef enum:
    STEP_UNITS = 100        # of a step: about a microsecond of Python
    CHECK_UNITS = 100_000   # between checks: about a millisecond

cdef int64_t MOST = <int64_t>1 << 60    # units; more is not counted apart

STEP = STEP_UNITS
CHECK_EVERY = CHECK_UNITS
CURRENT = ContextVar("stackmask_work", default=None)


@cython.final
cdef class Work:
    """The work of reading or normalising a grammar.

    ``allowance``: the maximum units of the request; ``spent``: the units used before this call.
    ``max_input_bytes``: the limit for each text. ``event``: cancels the call once it is set.
    Raises (from ``check``): BudgetError if units or time run out; CancelledError.
    """

    cdef readonly int64_t allowance
    cdef readonly int64_t max_input_bytes
    cdef public str stage       # what is being done, for the message
    cdef readonly object event
    cdef double max_seconds
    cdef double since
    cdef int64_t spent          # units of the request as of the last check
    cdef int64_t left           # units that this call may use after it
    cdef int64_t granted        # units from the last check to the next one
    cdef int64_t credit         # what is left of these

    def __cinit__(self, allowance, double max_seconds, max_input_bytes, *, spent=0, event=None):
        self.allowance = clamped(allowance)
        self.max_seconds = max_seconds
        self.max_input_bytes = clamped(max_input_bytes)
        self.spent = clamped(spent)
        self.event = event
        self.stage = "reading the grammar"
        self.since = monotonic()
        # one call may use three quarters, as in the engine
        self.left = min(self.allowance - self.spent, self.allowance * 3 // 4)
        self.granted = self.credit = min(<int64_t>CHECK_UNITS, max(self.left, <int64_t>0))

    @property
    def done(self):
        """The units that the request has used, including those before this call."""
        return self.spent + self.granted - self.credit

    @property
    def may_use(self):
        """The units that this call may still use."""
        return max(<int64_t>0, self.left - (self.granted - self.credit))

    cdef int charge(self, int64_t units) except FAILED:
        self.credit -= units
        if self.credit < 0:
            self.check()
        return 0

    cdef int check(self) except FAILED:
        """Account for the work done, and check whether the call may continue."""
        cdef int64_t used = self.granted - self.credit
        self.spent += used
        self.left -= used
        # until it is known that the call may go on, the next step comes here again
        self.granted = self.credit = 0
        if self.event is not None and self.event.is_set():
            raise CancelledError
        if self.left <= 0:
            raise BudgetError("max_work", self.allowance, f"{self.stage}: units of work of one request")
        if monotonic() - self.since > self.max_seconds:
            raise BudgetError("max_seconds", self.max_seconds, f"{self.stage}: seconds of work in one call")
        self.granted = self.credit = min(<int64_t>CHECK_UNITS, self.left)
        return 0


cdef int64_t clamped(object number) except? FAILED:
    """Return a number clamped to a safe range."""
    cdef int overflow = 0
    cdef long long found = PyLong_AsLongLongAndOverflow(number, &overflow)
    return MOST if overflow > 0 or found > MOST else found


cdef int charge(int64_t units) except FAILED:
    cdef PyObject* found = NULL
    PyContextVar_Get(CURRENT, NULL, &found)
    if found == NULL:
        return 0
    work = <object>found
    Py_XDECREF(found)
    if work is not None:
        (<Work>work).charge(units)
    return 0


def spend(steps):
    """Count steps of about a microsecond each. Without an account, steps are not counted.

    Raises: as ``Work``.
    """
    cdef int64_t units = clamped(steps)
    charge(units * STEP_UNITS if units < MOST // STEP_UNITS else MOST)


def spend_units(units):
    """Count work done in compiled code, in units of ten nanoseconds."""
    charge(clamped(units))
