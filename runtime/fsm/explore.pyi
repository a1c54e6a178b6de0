from stackmask.pda.automaton import Automaton
from stackmask.runtime.fsm.dfa import Dfa

class Exploration:
    """The configurations that were reached, as states by the order of visits, and what leads where."""

def explore(
    automaton: Automaton, symbols: list[list[int]], memory: int, seconds: float
) -> tuple[Dfa | None, int]:
    """Return the minimal automaton of a grammar, and how many states it had before equal ones were joined.

    ``symbols``: the classes of tokens that each special symbol is in. ``memory``: bytes that building may take.
    ``seconds``: after which it is given up. Hold the lock of the automaton's store.
    Returns: (Dfa, or None if there is no text; states before).
    Raises: FsmBudgetError, BudgetError.
    Cost: a step of the pushdown engine per state and byte class, then O(m log m) for m transitions.
    """
