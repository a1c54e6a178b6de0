from typing import final

from typing_extensions import Self

from stackmask.grammar.source.work import Event

@final
class WorkAccount:
    """The work that one request may still do, over all its calls. Safe to cancel from another thread."""

    @property
    def allowance(self) -> int:
        """Units that the request may have at most."""

    @property
    def left(self) -> int:
        """Units that it may still do; below 0 if its last call did a little more than was left."""

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""

    def __new__(cls, allowance: int, spent: int = 0, event: Event | None = None) -> Self: ...
    def grant(self, units: int) -> None:
        """Allow some more units, and one call to use all of these."""

    def restart(self, spent: int) -> None:
        """Give back all but the units of compiling: the request begins anew elsewhere."""

    def cancel(self) -> None:
        """End the call that works for this request at its next check, and later ones that need work."""

@final
class WorkMeter:
    """Counts the work of the calls of one store, which hold its lock one after the other.

    Raises: BudgetError if the request has no units left, or the call takes too long; CancelledError.
    """

    @property
    def done(self) -> int:
        """Units of all calls."""

    def __new__(cls, max_call: int | None = None, max_seconds: float = 1e9) -> Self: ...
    def charge(self, units: int) -> None:
        """Count some work that was done in Python."""
