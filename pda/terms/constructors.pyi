from typing import final

@final
class Constructors:
    """Terms made of terms, in one table; for Cython."""

    def __new__(cls) -> Constructors: ...
