"""Questions about regular expressions that front ends may ask before there is an automaton."""

from __future__ import annotations

from stackmask.grammar import ir
from stackmask.pda.limits import Limits
from stackmask.pda.lowering.entry import regular_term
from stackmask.pda.terms.term_store import TermStore


def is_empty(expr: ir.Expr, max_explored: int = Limits().max_explored) -> bool:
    """Tell whether a regular expression without references matches nothing.

    Cost: the derivatives that a breadth-first search visits until one matches the empty string.
    Raises: BudgetError if ``max_explored`` of them do not tell.
    """
    terms = TermStore(max_explored=max_explored)
    term = regular_term(terms, expr)
    return not terms.alive(term)


class Recognizer:
    """The strings that a regular expression without references matches."""

    __slots__ = ("_term", "_terms")

    def __init__(self, expr: ir.Expr) -> None:
        self._terms = TermStore()
        self._term = regular_term(self._terms, expr)

    def matches(self, data: bytes) -> bool:
        """Tell whether these bytes are a match. Cost: one derivative a byte, remembered."""
        return self._terms.matches(self._term, data)
