from typing import final

@final
class Kinds:
    """The tokens of one vocabulary, grouped by the kinds of characters in them; for Cython."""
