from typing import final

from stackmask.pda.terms.constructors import Constructors
from stackmask.pda.terms.derivatives import Derivatives
from stackmask.pda.terms.emptiness import Emptiness
from stackmask.pda.terms.simplifier import Simplifier

@final
class Steps:
    """The steps between the terms of one table; for Cython."""

    def __new__(
        cls, make: Constructors, derivatives: Derivatives, emptiness: Emptiness, simplifier: Simplifier
    ) -> Steps: ...
