from typing import final

from typing_extensions import Self

from stackmask.grammar.source.work import Event

@final
class WorkAccount:
    """What one request may still do and keep, over all its calls. Safe to cancel from another thread."""

    @property
    def allowance(self) -> int:
        """Units that the request may have at most."""

    @property
    def left(self) -> int:
        """Units that it may still do; below 0 if its last call did a little more than was left."""

    @property
    def memory(self) -> int:
        """Bytes of states that the request may add to what stays, at most."""

    @property
    def memory_left(self) -> int:
        """Bytes that it may still add."""

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""

    def __new__(
        cls, allowance: int, spent: int = 0, event: Event | None = None, limits: object = None
    ) -> Self: ...
    def grant(self, units: int) -> None:
        """Allow some more units, and one call to use all of these."""

    def grant_memory(self, n: int) -> None:
        """Allow some more bytes."""

    def begin(self) -> WorkAccount:
        """Return the account of a new matcher: this one is of reading and compiling its grammar, and was charged for that."""

    def restart(self, compiled: WorkAccount) -> None:
        """Take what is left after compiling: the request begins anew in another store."""

    def ease(self, other: WorkAccount) -> None:
        """Allow no less than another account of the same grammar does."""

    def hold(self, n: int) -> None:
        """Count bytes that were made in Python.

        Raises: BudgetError if they are more than the request may keep.
        """

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
