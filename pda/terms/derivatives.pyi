from typing import final

from stackmask.pda.terms.constructors import Constructors

@final
class Derivatives:
    """The derivatives of the terms of one table; for Cython."""

    def __new__(cls, make: Constructors) -> Derivatives: ...
