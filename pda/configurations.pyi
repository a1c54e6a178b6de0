from typing import final

from stackmask.pda.frames import FrameSpace
from stackmask.pda.semantics import Semantics
from stackmask.pda.terms import TermStore

@final
class ConfigSpace(FrameSpace):
    """Frames and configurations of one family of matchers, or of the mask walks of one store.

    Raises: BudgetError where a limit is met.
    """

    def __new__(
        cls,
        terms: TermStore,
        semantics: Semantics,
        is_walk: bool,
        max_configurations: int = ...,
        max_members: int = ...,
    ) -> ConfigSpace: ...
    def is_live(self, state: int, sem: int) -> bool:
        """Tell whether the text that starts in ``state`` can be completed."""
