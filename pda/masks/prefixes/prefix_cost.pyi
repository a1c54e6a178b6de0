from typing_extensions import Self

from stackmask.pda.context.semantic_states import Semantics
from stackmask.pda.masks.prefixes.literal_table import WordTable
from stackmask.pda.terms.term_store import TermStore
from stackmask.pda.vocabulary.token_trie import Trie

class HeadTexts:
    """What the vocabulary says of the heads of one store; for Cython."""

    def __new__(cls, terms: TermStore, semantics: Semantics, trie: Trie, words: WordTable) -> Self: ...
