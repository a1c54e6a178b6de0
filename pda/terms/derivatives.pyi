from stackmask.pda.terms.constructors import TermAlgebra

class TermMoves(TermAlgebra):
    """Where terms lead; for Cython."""
