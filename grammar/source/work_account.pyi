from contextvars import ContextVar
from typing import final

from typing_extensions import Self

from stackmask.grammar.source.work import Event

STEP: int
CHECK_EVERY: int
CURRENT: ContextVar[Work | None]

@final
class Work:
    """The work of reading a grammar, or of making it ready.

    Raises: BudgetError if units or time run out; CancelledError.
    """

    @property
    def stage(self) -> str:
        """What is being done, for the message."""

    @stage.setter
    def stage(self, stage: str) -> None: ...
    @property
    def allowance(self) -> int:
        """Units that the request may have at most."""

    @property
    def max_input_bytes(self) -> int:
        """The largest size of a text that is read."""

    @property
    def event(self) -> Event | None:
        """What cancels, once it is set."""

    @property
    def done(self) -> int:
        """Units of the request, those before this call included."""

    @property
    def may_use(self) -> int:
        """Units that this call may still use."""

    def __new__(
        cls,
        allowance: int,
        max_seconds: float,
        max_input_bytes: int,
        *,
        spent: int = 0,
        event: Event | None = None,
    ) -> Self: ...

def spend(steps: int) -> None:
    """Count steps of about a microsecond each. Without an account they are not counted. Raises: as ``Work``."""

def spend_units(units: int) -> None:
    """Count work that was done in compiled code, in units of ten nanoseconds."""
