"""The work of front ends, counted in the units of the engine, so that refusals only depend on the request.

A unit is about ten nanoseconds. Python code counts steps of about a microsecond, in every loop whose length
depends on the request. The caller that prepares a grammar opens an account for the request (``counted``); the
loops charge it with ``spend``. The account is in a context variable, so that readers and passes need no
argument for it, and threads and coroutines have separate accounts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Final, Protocol, TypeVar

from stackmask.grammar.source.diagnostics import BudgetError, CancelledError
from stackmask.grammar.source.work_account import CHECK_EVERY, CURRENT, STEP, Work, spend, spend_units

__all__ = [
    "CHECK_EVERY",
    "ENDLESS",
    "STEP",
    "BudgetError",
    "CancelledError",
    "Event",
    "Work",
    "check_size",
    "check_text",
    "counted",
    "current_work",
    "enter",
    "input_limit",
    "measured",
    "remembering",
    "spend",
    "spend_units",
    "uncounted",
]

ENDLESS: Final = 1 << 60

Result = TypeVar("Result")


class Event(Protocol):
    """The interface for cancelling a call, as in ``threading.Event``."""

    def is_set(self) -> bool:
        """Return whether the call is cancelled."""


def current_work() -> Work | None:
    """Return the current account; None if no work is counted."""
    return CURRENT.get()


def enter(stage: str) -> None:
    """Set the name of the current activity, for the message if the work runs out."""
    work = CURRENT.get()
    if work is not None:
        work.stage = stage


def input_limit() -> int:
    """Return the maximum size of an input text in bytes."""
    work = CURRENT.get()
    return ENDLESS if work is None else work.max_input_bytes


def check_size(what: str, size: int) -> None:
    """Refuse a text larger than the input limit before it is read.

    Raises: BudgetError.
    """
    work = CURRENT.get()
    if work is not None and size > work.max_input_bytes:
        raise BudgetError("max_input_bytes", work.max_input_bytes, f"{what} has {size:,} bytes")


def check_text(what: str, text: str | bytes | bytearray | memoryview) -> None:
    """Refuse a text larger than the input limit. Cost: linear only near the limit."""
    work = CURRENT.get()
    if work is None or 4 * len(text) <= work.max_input_bytes:
        return
    size = len(text.encode(errors="surrogatepass")) if isinstance(text, str) else len(text)
    check_size(what, size)


def measured(make: Callable[[], Result]) -> tuple[Result, int]:
    """Return the result of ``make``, and its units of work, which are charged."""
    work = CURRENT.get()
    if work is not None:
        before = work.done
        result = make()
        return result, work.done - before
    with counted(Work(ENDLESS, ENDLESS, ENDLESS)) as work:
        return make(), work.done


def remembering(most: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Cache up to ``most`` results of a function of hashable values.

    The work of a result is charged at every request, so that no outcome depends on earlier requests.
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
    """Do not charge the work of a cached function that reads files of this package."""

    @wraps(function)
    def free(*values: Any) -> Result:
        with counted(Work(ENDLESS, ENDLESS, ENDLESS)):
            return function(*values)

    return free


class counted:  # as ``contextmanager`` makes one, at a third of the cost
    """Charge the work inside to this account; afterwards, restore the previous account."""

    __slots__ = ("token", "work")

    def __init__(self, work: Work) -> None:
        self.work = work

    def __enter__(self) -> Work:
        self.token = CURRENT.set(self.work)
        return self.work

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        CURRENT.reset(self.token)
