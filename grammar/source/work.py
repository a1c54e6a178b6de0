"""Work of the front ends: counted in the units of the engine, so that the request alone decides what is refused.

A unit is about ten nanoseconds. What is written in Python counts steps of about a microsecond, in every loop whose
length a request decides. Whoever makes a grammar ready opens an account for the request (``counted``); the loops
charge it with ``spend``. It is kept in a context variable: readers and passes need no argument for it, and threads
and coroutines have their own.
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
    """What tells that a call is cancelled, as ``threading.Event`` does."""

    def is_set(self) -> bool:
        """Return whether the call is cancelled."""


def current_work() -> Work | None:
    """Return the account that is charged; None if nothing is counted."""
    return CURRENT.get()


def enter(stage: str) -> None:
    """Say what is being done, for the message if the work runs out."""
    work = CURRENT.get()
    if work is not None:
        work.stage = stage


def input_limit() -> int:
    """Return how many bytes a text may have that is read."""
    work = CURRENT.get()
    return ENDLESS if work is None else work.max_input_bytes


def check_size(what: str, size: int) -> None:
    """Refuse a text that is larger than an input may be, before anything of it is read.

    Raises: BudgetError.
    """
    work = CURRENT.get()
    if work is not None and size > work.max_input_bytes:
        raise BudgetError("max_input_bytes", work.max_input_bytes, f"{what} has {size:,} bytes")


def check_text(what: str, text: str | bytes | bytearray | memoryview) -> None:
    """Refuse a text that is larger than an input may be. Cost: linear only near the limit."""
    work = CURRENT.get()
    if work is None or 4 * len(text) <= work.max_input_bytes:
        return
    size = len(text.encode(errors="surrogatepass")) if isinstance(text, str) else len(text)
    check_size(what, size)


def measured(make: Callable[[], Result]) -> tuple[Result, int]:
    """Return what ``make`` returns, and the units that it took, which are charged."""
    work = CURRENT.get()
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


class counted:  # as ``contextmanager`` makes one, at a third of the cost
    """Charge what is done inside to this account; one that was open before is charged again afterwards."""

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
