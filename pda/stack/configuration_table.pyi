from typing import final

from typing_extensions import Self

from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.terms.term_store import TermStore

@final
class ConfigTable:
    """The configurations over the frames of one space, each once, and their transition rows; for Cython.

    Raises: BudgetError where a limit is met.
    """

    def __new__(
        cls,
        terms: TermStore,
        semantics: Semantics,
        is_walk: bool,
        max_configurations: int,
        max_members: int,
    ) -> Self: ...
