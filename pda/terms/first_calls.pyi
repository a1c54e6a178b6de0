from typing import final

from stackmask.pda.terms.constructors import Constructors

@final
class FirstCalls:
    """Finds the calls in first position of the terms of one table; for Cython."""

    def __new__(cls, make: Constructors) -> FirstCalls: ...
