from collections.abc import Iterable
from typing import final

@final
class Trie:
    """A trie of byte strings with the token ids that spell them; immutable.

    ``entries``: (bytes, token id) pairs, sorted by bytes, no empty strings. Several ids may share a node.
    Cost: linear in the bytes.
    """

    def __new__(cls, entries: Iterable[tuple[bytes, int]]) -> Trie: ...
    @property
    def max_depth(self) -> int:
        """The length of the longest token in bytes."""

    def __len__(self) -> int:
        """Return the number of nodes, the root included."""
