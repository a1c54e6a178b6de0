from stackmask.pda.masks.walk.subtree_acceptance import Stays

class WordWalks(Stays):
    """Masks of heads that are words only."""

    @property
    def word_walks(self) -> int:
        """Walks along the texts of words, so far."""
