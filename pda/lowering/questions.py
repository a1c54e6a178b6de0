"""Queries on regular expressions that front ends need before an automaton exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from stackmask.grammar import ir
from stackmask.grammar.source.work import current_work, spend_units
from stackmask.pda.limits import Limits
from stackmask.pda.lowering.entry import regular_tables, regular_term
from stackmask.pda.lowering.rules_to_terms import Lowering
from stackmask.pda.memory.work_meter import StoreLock, WorkAccount, WorkMeter
from stackmask.pda.terms.term_store import TermStore

Answer = TypeVar("Answer")


def is_empty(expr: ir.Expr, max_explored: int = Limits().max_explored) -> bool:
    """Return whether a regular expression without references matches nothing.

    Cost: the derivatives that a breadth-first search visits until one matches the empty string.
    Raises: BudgetError if ``max_explored`` derivatives do not decide, or the request has no work left.
    """
    meter = WorkMeter()

    def answer() -> bool:
        terms = TermStore(max_explored=max_explored)
        terms.count_work(meter)
        return not terms.alive(regular_term(terms, expr))

    return _charged(meter, answer)


class Recognizer:
    """The strings that a regular expression without references matches."""

    __slots__ = ("_expr", "_lowering", "_meter", "_term", "_terms")

    def __init__(self, expr: ir.Expr, max_explored: int = Limits().max_explored) -> None:
        self._meter = WorkMeter()
        self._terms = TermStore(max_explored=max_explored)
        self._terms.count_work(self._meter)
        self._expr = expr
        self._lowering = Lowering(regular_tables(self._terms))
        self._term = _charged(self._meter, lambda: self._lowering.term(expr))

    def matches(self, strings: Iterable[bytes]) -> list[bool]:
        """Return for each string whether it matches. Cost: one cached derivative for each byte.

        Raises: BudgetError if the request has no work left.
        """
        return _charged(self._meter, lambda: [self._terms.matches(self._term, data) for data in strings])

    def meets(self, expr: ir.Expr) -> bool:
        """Return whether some string matches both expressions. Cost, Raises: as ``is_empty``; terms are shared."""
        both = ir.Intersection((self._expr, expr))
        return _charged(self._meter, lambda: self._terms.alive(self._lowering.term(both)))


def _charged(meter: WorkMeter, answer: Callable[[], Answer]) -> Answer:
    """Return a result, and charge the work for it to the current request."""
    work = current_work()
    if work is None:
        return answer()
    account = WorkAccount(work.may_use, 0, work.event)
    lock = StoreLock(meter)
    lock.enter(account)
    done = False
    try:
        result = answer()
        done = True
    finally:
        lock.leave(done)
        # where nothing is left, this says so by the numbers of the request
        spend_units(account.allowance - account.left)
    return result
