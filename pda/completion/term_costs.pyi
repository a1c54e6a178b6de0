from typing import final

from typing_extensions import Self

from stackmask.pda.terms.term_store import TermStore

@final
class TermCosts:
    """The fewest bytes of the terms of one store. Hold the lock of the store to use it."""

    def __new__(cls, terms: TermStore) -> Self: ...
    def nbytes_held(self) -> int:
        """Return about how many bytes the results take."""
