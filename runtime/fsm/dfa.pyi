from collections.abc import Mapping
from typing import Any, final

import numpy.typing as npt

@final
class Dfa:
    """A deterministic automaton, immutable; every state can reach an accepting one. The start is state 0.

    ``arrays``: those that ``arrays()`` gives; ``specials``: how many symbols stand for special tokens.
    Raises: FsmFileError if they are no automaton.
    """

    def __new__(cls, arrays: Mapping[str, npt.NDArray[Any]] | None = None, specials: int = 0) -> Dfa: ...
    @property
    def start(self) -> int:
        """The state before any text."""

    @property
    def states(self) -> int:
        """The number of states."""

    @property
    def specials(self) -> int:
        """The number of symbols that stand for special tokens."""

    @property
    def edges(self) -> int:
        """The number of edges over bytes: ranges of bytes that lead from one state to one other."""

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, as copies."""

    def matches(self, data: bytes) -> bool:
        """Tell whether the automaton accepts exactly these bytes."""

    def next_state(self, state: int, symbol: int) -> int:
        """Return the state after a byte, or after special symbol ``symbol - 256``; -1 if there is none.

        Raises: IndexError if there is no such state or symbol.
        """

    def is_accepting(self, state: int) -> bool:
        """Tell whether the text may end in a state. Raises: IndexError if there is no such state."""

    def dump(self) -> str:
        """Return the automaton as text, a line for each state."""
