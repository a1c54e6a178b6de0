from typing import Any, final

from stackmask.pda.vocabulary.token_bytes import TokenBytes

@final
class Trie:
    """A trie of the tokens of a vocabulary; immutable.

    ``token_bytes``: those without bytes are left out. Several ids may share a node. ``block``: memory
    of an equal trie made before (its ``block``). It is checked against the tokens and then used without a
    copy.

    Raises: VocabularyError if the block is not the trie of these tokens.
    Cost: linear in the bytes; 128,000 tokens take about 10 ms, checking a block about 2 ms.
    """

    def __new__(cls, token_bytes: TokenBytes, block: Any = None) -> Trie: ...
    @property
    def nodes(self) -> int:
        """The number of nodes, the root included."""

    @property
    def token_count(self) -> int:
        """The number of tokens in the trie."""

    @property
    def max_depth(self) -> int:
        """The length of the longest token in bytes."""

    @property
    def block(self) -> memoryview:
        """The memory, read-only."""

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""

    def __len__(self) -> int:
        """Return the number of nodes, the root included."""
