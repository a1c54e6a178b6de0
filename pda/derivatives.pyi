from stackmask.pda.constructors import TermAlgebra

class TermMoves(TermAlgebra):
    """Where terms lead; for Cython."""
