from typing import final

from stackmask.pda.terms.term_store import TermStore

@final
class KeyNeeds:
    """The tests of keys that terms need; used from Cython."""

    def __new__(cls, terms: TermStore) -> KeyNeeds: ...
