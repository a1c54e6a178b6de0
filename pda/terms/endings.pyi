from typing import final

from stackmask.pda.terms.constructors import Constructors
from stackmask.pda.terms.steps import Steps

@final
class Endings:
    """The ends of the terms and rules of one table; for Cython."""

    def __new__(cls, make: Constructors, steps: Steps) -> Endings: ...
