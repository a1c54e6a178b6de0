from typing import final

from typing_extensions import Self

from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.terms.term_store import TermStore

@final
class FrameGraph:
    """The frames of one family of matchers, or of the mask walks of one store; for Cython."""

    def __new__(
        cls, terms: TermStore, semantics: Semantics, is_walk: bool, is_summary: bool = False
    ) -> Self: ...
