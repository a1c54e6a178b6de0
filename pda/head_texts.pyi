from typing_extensions import Self

from stackmask.pda.semantics import Semantics
from stackmask.pda.terms import TermStore
from stackmask.pda.trie import Trie

class HeadTexts:
    """What the vocabulary says of the heads of one store; for Cython."""

    def __new__(cls, terms: TermStore, semantics: Semantics, trie: Trie) -> Self: ...
