"""Errors of the automaton."""

from __future__ import annotations

from stackmask.grammar.diagnostics import StackmaskError


class BudgetError(StackmaskError):
    """A limit was met; names the limit, its value and the knob that raises it."""

    def __init__(self, limit: str, value: int, what: str) -> None:
        self.limit = limit
        self.value = value
        super().__init__(f"{what}: more than {value:,} ({limit}); raise it with Limits({limit}=…)")


class VocabularyError(StackmaskError):
    """A vocabulary that is unusable, or that cannot spell what a grammar needs."""
