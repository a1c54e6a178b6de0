from collections.abc import Iterable, Sequence
from typing import final

from stackmask.pda.configurations import ConfigSpace
from stackmask.pda.semantics import Semantics
from stackmask.pda.terms import TermStore
from stackmask.pda.trie import Trie

@final
class MaskStore:
    """The masks of the grammars of one store over one vocabulary; append-only, made when they are first needed."""

    def __new__(
        cls,
        terms: TermStore,
        semantics: Semantics,
        space: ConfigSpace,
        trie: Trie,
        vocab_size: int,
        *,
        max_bytes: int = ...,
    ) -> MaskStore: ...
    @property
    def space(self) -> ConfigSpace:
        """The configurations of the walks."""

    @property
    def width(self) -> int:
        """Words of 32 bits in a mask."""

    @property
    def walks(self) -> int:
        """Walks of the vocabulary trie so far."""

    @property
    def hits(self) -> int:
        """Answers that were remembered."""

    @property
    def simulations(self) -> int:
        """Masks that were walked on the real stack, because it has too many paths."""

    @property
    def most_visits(self) -> int:
        """The most (mask, frame) pairs that one mask was put together from."""

    def add_token_class(self, tokens: Iterable[int]) -> None:
        """Enter the ids of the next class of special tokens."""

    def precompute(self, rules: Sequence[int], budget: int) -> tuple[int, int, bool]:
        """Make the masks of every reachable local state of the rules, and of every (state, return state) pair.

        Stops after ``budget`` walks. Returns: (states seen, walks done, complete).
        """

    def counts(self) -> dict[str, int]:
        """Return sizes: masks, walks, hits, bytes held by masks."""
