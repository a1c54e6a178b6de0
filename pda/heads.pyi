from typing import final

from typing_extensions import Self

from stackmask.pda.keys import KeyStates
from stackmask.pda.terms import TermStore
from stackmask.pda.trie import Trie

@final
class Heads:
    """The cuts of the states of one store; for Cython."""

    def __new__(cls, terms: TermStore, keys: KeyStates, trie: Trie) -> Self: ...
