"""Errors of the automaton."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError
from stackmask.grammar.source.work import BudgetError, CancelledError

__all__ = ["BudgetError", "CancelledError", "ResolverError", "SpoiledError", "VocabularyError"]


class VocabularyError(StackmaskError):
    """The vocabulary is invalid, or cannot spell the texts of a grammar."""


class ResolverError(StackmaskError):
    """The resolver of a dynamic rule returned an expression that the automaton cannot follow exactly."""


class SpoiledError(StackmaskError):
    """Memory ran out in an earlier call, so the states and masks of this call are no longer used.

    The compiler is still usable: ``compiler.compile`` and ``compiled.matcher`` start with new states.
    """

    def __init__(self) -> None:
        super().__init__(
            "memory ran out in an earlier call, during a change to data that the matchers of this compiler share; "
            "create a new matcher (compiled.matcher()) and let it accept the text again"  # mutant: fresh-matcher
        )
