from typing import final

from stackmask.pda.crossings import Crossings
from stackmask.pda.trie import Trie
from stackmask.runtime.finite.index import TokenIndex
from stackmask.runtime.finite.paths import Paths

@final
class FsmRuns(Crossings):
    """Forced runs of an automaton, as ``ForcedRuns`` has them of configurations; place n is state n - 1."""

    def __new__(cls, index: TokenIndex, paths: Paths, trie: Trie) -> FsmRuns: ...
    def run(self, place: int) -> tuple[bytes, int, int, int, int]:
        """Return (bytes, how many of them are whole characters, kind, token, next place), as ``ForcedRuns.run``.

        Cost: a look at the merged path of the state.
        """
