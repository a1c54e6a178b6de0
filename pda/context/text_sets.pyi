from typing import final

@final
class TextSets:
    """Sets of texts, such as the undeclared keys that an object has; used from Cython."""
