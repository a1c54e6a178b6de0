from typing import Any, final

from stackmask.pda.vocabulary.token_bytes import TokenBytes

@final
class TokenOrder:
    """The ids of the tokens with text, by their bytes, then by id; immutable.

    ``data``: that of an equal order made before, or the ``order`` of its trie, so that the tokens need not be
    sorted. It is checked against the tokens, so no other order is taken.

    Raises: VocabularyError if it is not the order of these tokens.
    Cost: linear in the bytes; 128,000 tokens take about 8 ms, with their order 3 ms.
    """

    def __new__(cls, token_bytes: TokenBytes, data: Any = None) -> TokenOrder: ...
    @property
    def data(self) -> bytes:
        """The ids as int32."""

@final
class Trie:
    """A trie of the tokens of a vocabulary; immutable.

    ``token_bytes``: those without bytes are left out. Several ids may share a node. ``order``: theirs, if it is known. Other
    threads run meanwhile.

    Raises: VocabularyError if it is the order of other tokens.
    Cost: linear in the bytes; 128,000 tokens take about 25 ms, with their order about 15 ms.
    """

    def __new__(cls, token_bytes: TokenBytes, order: TokenOrder | None = None) -> Trie: ...
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
    def order(self) -> memoryview:
        """The ids of the tokens by their bytes, then by id, as int32; read-only."""

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""

    def __len__(self) -> int:
        """Return the number of nodes, the root included."""
