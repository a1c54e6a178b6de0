from stackmask.pda.terms.term_store import TermBuilder

def literal_trie(build: TermBuilder, tails: dict[bytes, list[int]]) -> int:
    """Return any of the words, each followed by one of its tails. The words share their prefixes."""
