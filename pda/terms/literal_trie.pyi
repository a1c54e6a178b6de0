from stackmask.pda.terms.term_store import TermStore

def literal_trie(terms: TermStore, tails: dict[bytes, list[int]]) -> int:
    """Return any of the words, each followed by one of its tails. The words share their prefixes."""
