from typing import final

@final
class SuffixTries:
    """Tries of merged remainders of one vocabulary; for Cython."""
