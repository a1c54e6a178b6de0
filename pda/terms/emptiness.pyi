from typing import final

from stackmask.pda.terms.derivatives import Derivatives

@final
class Emptiness:
    """Decides whether terms of one table have a string; for Cython. Raises: BudgetError where a limit is met."""

    def __new__(cls, derivatives: Derivatives, max_explored: int = ...) -> Emptiness: ...
