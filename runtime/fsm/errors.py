"""Errors of the finite-state engine."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.pda.errors import BudgetError

_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


class FsmError(StackmaskError):
    """A grammar that no finite automaton means, with the rule and the feature that is to blame."""


class FsmFileError(StackmaskError):
    """A file that is no finite-state index, is damaged, or belongs to another vocabulary."""


class FsmBudgetError(BudgetError):
    """A finite automaton or its index that does not fit in the memory that it was given.

    ``estimate``: bytes that it would take at least. ``states``: states at least.
    """

    estimate: int
    """Bytes that automaton and index would take at least."""

    states: int
    """States that the automaton would have at least."""

    def __init__(self, memory: int, estimate: int, states: int, what: str) -> None:
        self.limit = "memory"
        self.value = memory
        self.estimate = estimate
        self.states = states
        Exception.__init__(
            self,
            f"{what}: at least {states:,} states and {megabytes(estimate)}, but memory is {megabytes(memory)}; "
            "raise it with memory=…, or use the pushdown engine, which makes only the states that it visits",
        )


def megabytes(size: int) -> str:
    """Return a size in bytes for people."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.3g} {name}" if size < 1000 * unit else f"{size // unit:,} {name}"
    return f"{size} bytes"
