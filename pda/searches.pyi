from stackmask.pda.derivatives import TermMoves

class TermSearches(TermMoves):
    """Terms whose emptiness is decided; for Cython."""
