from typing import final

from typing_extensions import Self

from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.terms.term_store import TermStore

@final
class ConfigSpace:
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
        is_summary: bool = False,
    ) -> Self: ...
    def is_live(self, state: int, sem: int) -> bool:
        """Tell whether the text that starts in ``state`` can be completed."""
    def nbytes_held(self) -> int:
        """Return about how many bytes frames and configurations take."""
    def counts(self) -> dict[str, int]:
        """Return sizes: configurations, members, frames, edges; steps computed, and returns followed."""
