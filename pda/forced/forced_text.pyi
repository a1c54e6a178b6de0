from collections.abc import Mapping
from typing import final

from stackmask.pda.forced.boundary_tokens import Crossings
from stackmask.pda.stack.configurations import ConfigSpace
from stackmask.pda.vocabulary.token_trie import Trie

@final
class ForcedRuns(Crossings):
    """The forced runs of one family of configurations; ``token_classes`` and ``trie`` are those of the grammar.

    Hold the store's lock to use it.
    """

    def __new__(
        cls, family: ConfigSpace, token_classes: Mapping[tuple[int, ...], int], trie: Trie
    ) -> ForcedRuns: ...
    def belongs_to(self, family: ConfigSpace) -> bool:
        """Tell whether the runs are those of this family."""

    def run(self, config: int) -> tuple[bytes, int, int, int, int]:
        """Return (bytes, how many of them are whole characters, kind, token, next configuration) of a place.

        The third to fifth say what comes behind the run: kind 0 a branch, 1 nothing but one special token (then
        with that token and the configuration after it, else -1 and the configuration at the end), 2 the end of
        the text, 3 more, but the limit of one run was met. The bytes that are no whole character are at most
        three, at the end; all of them, if the place is inside a character that stays unfinished.
        Cost: one lookup once the place is known.
        """

    def stats(self) -> tuple[int, int, int]:
        """Return the number of runs, of places and of bytes that are remembered."""
