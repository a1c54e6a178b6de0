from stackmask.pda.terms.term_table import TermTable

class TermAlgebra(TermTable):
    """Terms made of terms; for Cython."""
