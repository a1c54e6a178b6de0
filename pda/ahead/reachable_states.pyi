from typing import final

from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.stack.configurations import ConfigSpace
from stackmask.pda.terms.term_store import TermStore

@final
class Reachable:
    """The local states that texts of a grammar can lead to, and the frames below them."""

    def __new__(cls, terms: TermStore, semantics: Semantics, start: int, start_state: int) -> Reachable: ...
    @property
    def family(self) -> ConfigSpace:
        """The space of the frames."""

    @property
    def unknown(self) -> bool:
        """Whether a rule is known only once there is a text."""
