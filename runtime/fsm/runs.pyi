from typing import final

from stackmask.pda.forced.boundary_tokens import Crossings
from stackmask.pda.vocabulary.token_trie import Trie
from stackmask.runtime.fsm.index import TokenIndex
from stackmask.runtime.fsm.paths import Paths

@final
class FsmRuns(Crossings):
    """Forced runs of an automaton, as ``ForcedRuns`` has them of configurations; place n is state n - 1."""

    def __new__(cls, index: TokenIndex, paths: Paths, trie: Trie) -> FsmRuns: ...
    def run(self, place: int) -> tuple[bytes, int, int, int, int]:
        """Return (bytes, how many of them are whole characters, kind, token, next place), as ``ForcedRuns.run``.

        Cost: a look at the merged path of the state.
        """
