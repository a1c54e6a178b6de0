from typing import final

from stackmask.runtime.fsm.dfa import Dfa

@final
class Paths:
    """The forced bytes of every state. Cost: linear in the states, in time and memory."""

    def __new__(cls, dfa: Dfa) -> Paths: ...
    @property
    def states(self) -> int:
        """The states that are left when singular paths are merged into one edge."""

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""

    def jump(self, state: int) -> tuple[bytes, int]:
        """Return (the bytes that must come next, the state after them).

        Raises: IndexError if there is no such state.
        """
