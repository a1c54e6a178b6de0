from typing import final

@final
class SemanticValues:
    """The values of semantic states; used from Cython."""
