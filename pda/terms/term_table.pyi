from typing import final

from typing_extensions import Self

from stackmask.pda.memory.work_meter import WorkMeter

@final
class ByteClasses:
    """The byte sets of terms, the partitions of the bytes that steps use, and guards."""

class TermTable:
    """The tables that terms live in.

    Invariant: append-only; ids stay valid for the life of the table. Raises: BudgetError where a limit is met.
    """

    def __new__(cls, max_terms: int = ..., max_explored: int = ...) -> Self: ...
    @property
    def token_classes(self) -> int:
        """The number of sets of special tokens."""

    def count_work(self, meter: WorkMeter) -> None:
        """Count the work of these terms, and of all that is made of them, with a meter."""
