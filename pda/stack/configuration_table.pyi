from typing_extensions import Self

from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.stack.frames import FrameSpace
from stackmask.pda.terms.term_store import TermStore

class ConfigTable(FrameSpace):
    """The configurations over the frames of one space.

    Raises: BudgetError where a limit is met.
    """

    def __new__(
        cls,
        terms: TermStore,
        semantics: Semantics,
        is_walk: bool,
        max_configurations: int = ...,
        max_members: int = ...,
    ) -> Self: ...
    def nbytes_held(self) -> int:
        """Return about how many bytes frames and configurations take."""
