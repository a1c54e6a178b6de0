from typing_extensions import Self

from stackmask.pda.semantics import Semantics
from stackmask.pda.terms import TermStore
from stackmask.pda.trie import Trie
from stackmask.pda.word_table import WordTable

class HeadTexts:
    """What the vocabulary says of the heads of one store; for Cython."""

    def __new__(cls, terms: TermStore, semantics: Semantics, trie: Trie, words: WordTable) -> Self: ...
