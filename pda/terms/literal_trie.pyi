from stackmask.pda.terms.term_store import TermStore

def literal_trie(terms: TermStore, tails: dict[bytes, list[int]]) -> int:
    """Return any of the words, each with one of its tails behind it; the words share their prefixes."""
