from typing import final

@final
class CharacterGroups:
    """The tokens of one vocabulary, grouped by the kinds of characters in them; for Cython."""
