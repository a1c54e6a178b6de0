from typing import final

from stackmask.pda.masks.engine import MaskEngine
from stackmask.pda.stack.configurations import ConfigSpace

@final
class Precomputation:
    """Masks made ahead of time, a slice of the work at a time."""

    def __new__(
        cls, masks: MaskEngine, start: int, start_state: int, budget: int, family: ConfigSpace | None = None
    ) -> Precomputation: ...
    def advance(self, seconds: float) -> bool:
        """Work for some seconds; return whether there is nothing left to do. Hold the lock of the store."""

    def counts(self) -> dict[str, int]:
        """Return what was done: states, walks, visits, passes, configurations."""

    @property
    def stopped(self) -> str | None:
        """Why not all masks were made: the budget, memory, or states that only a text decides."""

    def stop(self, reason: str) -> None:
        """Make no more."""
