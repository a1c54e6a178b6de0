from typing import final

from typing_extensions import Self

from stackmask.pda.head_texts import HeadTexts
from stackmask.pda.semantics import Semantics
from stackmask.pda.terms import TermStore
from stackmask.pda.trie import Trie
from stackmask.pda.word_table import WordTable

@final
class Heads(HeadTexts):
    """The cuts of the states of one store; for Cython."""

    def __new__(cls, terms: TermStore, semantics: Semantics, trie: Trie, words: WordTable) -> Self: ...
