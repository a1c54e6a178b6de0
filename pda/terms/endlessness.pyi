from stackmask.pda.terms.term_store import TermStore

def is_endless(terms: TermStore, term: int, max_explored: int) -> bool | None:
    """Tell whether every beginning of a string of a regular term begins infinitely many; None: not found out."""
