from stackmask.pda.interning import TermTable

class TermAlgebra(TermTable):
    """Terms made of terms; for Cython."""
