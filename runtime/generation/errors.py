"""Errors of generation that a user can cause."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class GenerationError(StackmaskError):
    """An error of constrained generation: it cannot continue, or its arguments are invalid."""
