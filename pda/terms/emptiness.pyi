from stackmask.pda.terms.derivatives import TermMoves

class TermSearches(TermMoves):
    """Terms whose emptiness is decided; for Cython."""
