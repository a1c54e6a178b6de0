from typing import final

from stackmask.grammar.ir import KeySpec
from stackmask.pda.terms.term_store import TermStore

@final
class KeyStates:
    """The key states of the grammars of one store: which keys an object has so far, and which may still come.

    Raises: BudgetError where ``max_states`` is met.
    """

    def __new__(cls, terms: TermStore, max_states: int = ...) -> KeyStates: ...
    def add_spec(self, spec: KeySpec) -> int:
        """Return the number of a spec, which can be satisfied."""
