from typing import final

@final
class Forest:
    """Tries of merged remainders of one vocabulary; for Cython."""
