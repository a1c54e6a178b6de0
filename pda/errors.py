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
            "memory ran out in an earlier call, in the middle of a change to what the matchers of this compiler "
            "share; make a new matcher (compiled.matcher()), and take its text in again"  # mutant: fresh-matcher
        )
