"""Work of the front ends: counted in the units of the engine, so that the request alone decides what is refused.

A unit is about ten nanoseconds. What is written in Python counts steps of about a microsecond, in every loop whose
length a request decides. Whoever makes a grammar ready opens an account for the request (``counted``); the loops
charge it with ``spend``. It is kept in a context variable: readers and passes need no argument for it, and threads
and coroutines have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from time import monotonic
from typing import Any, Final, Protocol, TypeVar

from stackmask.grammar.source.diagnostics import StackmaskError

STEP: Final = 100  # units: about a microsecond of Python
CHECK_EVERY: Final = 100_000  # units, about a millisecond
ENDLESS: Final = 1 << 60

Result = TypeVar("Result")


class BudgetError(StackmaskError):
    """A limit was met; names the limit, its value and, unless it is ``fixed``, the knob that raises it."""

    def __init__(self, limit: str, value: float, what: str, *, fixed: bool = False) -> None:
        self.limit = limit
        self.value = value
        advice = "this limit is fixed" if fixed else f"raise it with Limits({limit}=…)"  # mutant: advice
        super().__init__(f"{what}: more than {value:,} ({limit}); {advice}")


class CancelledError(StackmaskError):
    """A call was cancelled from another thread. The matcher is as it was before the call."""

    def __init__(self) -> None:
        super().__init__("the request was cancelled, by Matcher.cancel() or the event given to compile()")


class Event(Protocol):
    """What tells that a call is cancelled, as ``threading.Event`` does."""

    def is_set(self) -> bool:
        """Tell whether the call is cancelled."""


class Work:
    """The work of reading a grammar, or of making it ready.

    allowance: units that the request may have at most; spent: those that it had before this call.
    most: units that this call may use. max_input_bytes: of each text that is read.
    Raises (from ``check``): BudgetError if units or time run out; CancelledError.
    """

    __slots__ = (
        "allowance",
        "credit",
        "event",
        "granted",
        "left",
        "max_input_bytes",
        "max_seconds",
        "since",
        "spent",
        "stage",
    )

    def __init__(
        self,
        allowance: int,
        max_seconds: float,
        max_input_bytes: int,
        *,
        spent: int = 0,
        event: Event | None = None,
    ) -> None:
        self.allowance = allowance
        self.max_seconds = max_seconds
        self.max_input_bytes = max_input_bytes
        self.spent = spent
        self.event = event
        self.stage = "reading the grammar"
        self.since = monotonic()
        # one call may use three quarters, as in the engine
        self.left = min(allowance - spent, allowance * 3 // 4)
        self.granted = self.credit = min(CHECK_EVERY, max(self.left, 0))

    @property
    def done(self) -> int:
        """Units of the request, those before this call included."""
        return self.spent + self.granted - self.credit

    @property
    def may_use(self) -> int:
        """Units that this call may still use."""
        return max(0, self.left - (self.granted - self.credit))

    def check(self) -> None:
        """Settle what was done, and look whether the call may go on."""
        used = self.granted - self.credit
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
        self.granted = self.credit = min(CHECK_EVERY, self.left)


_current: ContextVar[Work | None] = ContextVar("stackmask_work", default=None)
_work_of = _current.get


def spend(steps: int) -> None:
    """Count steps of about a microsecond each. Without an account they are not counted. Raises: as ``Work``."""
    work = _work_of()
    if work is not None:
        work.credit -= steps * STEP
        if work.credit < 0:
            work.check()


def spend_units(units: int) -> None:
    """Count work that was done in compiled code, in units of ten nanoseconds."""
    work = _work_of()
    if work is not None:
        work.credit -= units
        if work.credit < 0:
            work.check()


def current_work() -> Work | None:
    """Return the account that is charged; None if nothing is counted."""
    return _work_of()


def enter(stage: str) -> None:
    """Say what is being done, for the message if the work runs out."""
    work = _work_of()
    if work is not None:
        work.stage = stage


def input_limit() -> int:
    """Return how many bytes a text may have that is read."""
    work = _work_of()
    return ENDLESS if work is None else work.max_input_bytes


def check_size(what: str, size: int) -> None:
    """Refuse a text that is larger than an input may be, before anything of it is read.

    Raises: BudgetError.
    """
    work = _work_of()
    if work is not None and size > work.max_input_bytes:
        raise BudgetError("max_input_bytes", work.max_input_bytes, f"{what} has {size:,} bytes")


def check_text(what: str, text: str | bytes | bytearray | memoryview) -> None:
    """Refuse a text that is larger than an input may be. Cost: linear only near the limit."""
    work = _work_of()
    if work is None or 4 * len(text) <= work.max_input_bytes:
        return
    size = len(text.encode(errors="surrogatepass")) if isinstance(text, str) else len(text)
    check_size(what, size)


def measured(make: Callable[[], Result]) -> tuple[Result, int]:
    """Return what ``make`` returns, and the units that it took, which are charged."""
    work = _work_of()
    if work is not None:
        before = work.done
        result = make()
        return result, work.done - before
    with counted(Work(ENDLESS, ENDLESS, ENDLESS)) as work:
        return make(), work.done


def remembering(most: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Remember up to ``most`` answers of a function of values that can be compared.

    What an answer took is charged whenever it is asked for, so that no outcome depends on what came before.
    """

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        known: dict[tuple[Any, ...], tuple[Result, int]] = {}

        @wraps(function)
        def remembered(*values: Any) -> Result:
            found = known.get(values)
            if found is not None:
                spend_units(found[1])
                return found[0]
            if len(known) >= most:
                known.clear()
            answer = known[values] = measured(lambda: function(*values))
            return answer[0]

        return remembered

    return decorate


def uncounted(function: Callable[..., Result]) -> Callable[..., Result]:
    """Charge nobody for what a function does: it reads files of this package, and is remembered."""

    @wraps(function)
    def free(*values: Any) -> Result:
        with counted(Work(ENDLESS, ENDLESS, ENDLESS)):
            return function(*values)

    return free


@contextmanager
def counted(work: Work) -> Iterator[Work]:
    """Charge what is done inside to this account; one that was open before is charged again afterwards."""
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)
