"""Errors of the finite-state engine."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.pda.errors import BudgetError

_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


class FsmError(StackmaskError):
    """No finite automaton accepts the grammar's language. The message names the rule and the feature."""


class FsmFileError(StackmaskError):
    """The file is not a finite-state index, is damaged, or belongs to another vocabulary."""


class FsmBudgetError(BudgetError):
    """A finite automaton or its index exceeds the given memory.

    ``estimate``: a lower bound on the bytes. ``states``: a lower bound on the states.
    """

    estimate: int
    """A lower bound on the bytes of automaton and index."""

    states: int
    """A lower bound on the states of the automaton."""

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
    """Return a size in bytes as human-readable text."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.3g} {name}" if size < 1000 * unit else f"{size // unit:,} {name}"
    return f"{size} bytes"
