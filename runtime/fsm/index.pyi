from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from stackmask.pda.vocabulary.token_bytes import TokenBytes
from stackmask.pda.vocabulary.token_trie import Trie
from stackmask.runtime.fsm.dfa import Dfa

@final
class TokenIndex:
    """The allowed tokens of every state of an automaton. Immutable; safe to use from several threads.

    ``special_ids``: for each special symbol of the automaton the tokens that it stands for.
    """

    def __new__(
        cls, dfa: Dfa, texts: TokenBytes, size: int, special_ids: Sequence[Sequence[int]] = ()
    ) -> TokenIndex: ...
    @staticmethod
    def build(
        dfa: Dfa,
        texts: TokenBytes,
        trie: Trie,
        size: int,
        special_ids: Sequence[Sequence[int]],
        memory: int,
        seconds: float,
    ) -> TokenIndex:
        """Return the index of an automaton.

        Raises: FsmBudgetError if it does not fit in ``memory`` bytes; BudgetError after ``seconds``; FsmError if
            a token is allowed both as text and as a special token, and leads to different places.
        Cost: a walk of the trie per state (states that cannot differ share one). Releases the interpreter's lock.
        """

    @property
    def dfa(self) -> Dfa:
        """The automaton."""

    @property
    def size(self) -> int:
        """The width of the logits."""

    @property
    def width(self) -> int:
        """The words of a mask row."""

    @property
    def rows(self) -> int:
        """The number of different rows."""

    @property
    def dense_rows(self) -> int:
        """The number of rows that are kept as bits."""

    @property
    def nbytes(self) -> int:
        """The size of the arrays, without the automaton's."""

    @property
    def transitions(self) -> int:
        """How many pairs of a state and a token that may come next there are."""

    def next_state(self, state: int, token: int) -> int:
        """Return the state after a token, or -1 if it may not come next.

        Raises: IndexError if there is no such state or token.
        """

    def allowed_tokens(self, state: int) -> npt.NDArray[np.int64]:
        """Return the tokens that may come next in a state, ascending; without stop tokens that end the text.

        Raises: IndexError if there is no such state.
        """

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, as copies."""

    def special_ids(self) -> list[list[int]]:
        """Return for each special symbol the tokens that it stands for."""

    @staticmethod
    def from_arrays(
        dfa: Dfa,
        texts: TokenBytes,
        size: int,
        special_ids: Sequence[Sequence[int]],
        arrays: Mapping[str, npt.NDArray[Any]],
    ) -> TokenIndex:
        """Return the index that has these arrays. Raises: FsmFileError if there is none."""
