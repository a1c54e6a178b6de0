from collections.abc import Iterable
from typing import final

from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.stack.configurations import ConfigSpace
from stackmask.pda.terms.term_store import TermStore
from stackmask.pda.vocabulary.token_trie import Trie

@final
class MaskEngine:
    """The masks of the grammars of one store over one vocabulary, made when they are first needed."""

    def __init__(
        self,
        terms: TermStore,
        semantics: Semantics,
        space: ConfigSpace,
        trie: Trie,
        vocab_size: int,
        max_bytes: int = ...,
    ) -> None: ...
    @property
    def width(self) -> int:
        """Words of 32 bits in a mask."""

    @property
    def space(self) -> ConfigSpace:
        """The configurations of the walks."""

    @property
    def fills(self) -> int:
        """Masks that were requested."""

    @property
    def hits(self) -> int:
        """Those of them that were remembered whole."""

    @property
    def simulations(self) -> int:
        """Fills that tried tokens on the configuration."""

    def add_token_class(self, tokens: Iterable[int]) -> None:
        """Enter the ids of the next class of special tokens."""

    def prepare(self, items: Iterable[int]) -> None:
        """Make the run tables of some repeated items, terms, over the whole vocabulary."""

    def set_budget(self, max_bytes: int) -> None:
        """Change how many bytes masks may take. It is looked at with the next mask."""

    def counts(self) -> dict[str, int]:
        """Return sizes: masks, walks, hits, bytes held by masks."""

    def nbytes_held(self) -> int:
        """Return about how many bytes a drop of masks keeps: facts about terms."""

@final
class MaskParts:
    """The parts of one engine, to be dropped and weighed together."""
