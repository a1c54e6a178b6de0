from stackmask.pda.masks.prefixes.literal_masks import WordWalks

class MaskWalks(WordWalks):
    """The masks of local states, made when they are first asked for."""

    @property
    def walks(self) -> int:
        """Walks of the vocabulary trie, or of remainders, so far."""

    @property
    def visited_nodes(self) -> int:
        """Trie nodes that walks went on behind."""

    @property
    def shortened(self) -> int:
        """Walks that left settled or short tokens aside."""

    @property
    def taken(self) -> int:
        """Subtrees of the vocabulary that were taken whole."""
