from typing import final

from stackmask.pda.terms.constructors import Constructors
from stackmask.pda.terms.derivatives import Derivatives
from stackmask.pda.terms.emptiness import Emptiness

@final
class Simplifier:
    """What a search says about operands of intersections; for Cython."""

    def __new__(cls, make: Constructors, derivatives: Derivatives, emptiness: Emptiness) -> Simplifier: ...
