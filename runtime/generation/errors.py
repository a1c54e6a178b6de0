"""Errors of generation that a user can cause."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class GenerationError(StackmaskError):
    """Constrained generation cannot continue, or its arguments are invalid."""
