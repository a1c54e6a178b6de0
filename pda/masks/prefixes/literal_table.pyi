from typing import final

from typing_extensions import Self

from stackmask.pda.terms.term_store import TermStore

@final
class WordTable:
    """Words, which are heads of states, by number; for Cython."""

    def __new__(cls, terms: TermStore) -> Self: ...
