from collections.abc import Iterable

from typing_extensions import Self

from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.stack.configurations import ConfigSpace
from stackmask.pda.terms.term_store import TermStore
from stackmask.pda.vocabulary.token_trie import Trie

class MaskTable:
    """The masks of the grammars of one store, which are dropped together when they take ``max_bytes``."""

    def __new__(
        cls,
        terms: TermStore,
        semantics: Semantics,
        space: ConfigSpace,
        trie: Trie,
        vocab_size: int,
        max_bytes: int = ...,
    ) -> Self: ...
    @property
    def space(self) -> ConfigSpace:
        """The configurations of the walks."""

    @property
    def width(self) -> int:
        """Words of 32 bits in a mask."""

    @property
    def drops(self) -> int:
        """How often all masks were dropped."""

    def add_token_class(self, tokens: Iterable[int]) -> None:
        """Enter the ids of the next class of special tokens."""
