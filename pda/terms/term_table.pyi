from typing_extensions import Self

from stackmask.pda.memory.store_lock import StoreLock

class TermTable:
    """The tables that terms live in.

    Invariant: append-only; ids stay valid for the life of the table. Raises: BudgetError where a limit is met.
    """

    def __new__(cls, max_terms: int = ..., max_explored: int = ...) -> Self: ...
    @property
    def token_classes(self) -> int:
        """The number of sets of special tokens."""

    def time_calls(self, lock: StoreLock, max_seconds: float) -> None:
        """Let no call that holds the lock work for more than some seconds (checked now and then)."""
