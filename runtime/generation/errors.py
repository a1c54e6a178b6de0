"""Errors of generation that a user can cause."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class GenerationError(StackmaskError):
    """Constrained generation that cannot go on, or that was asked for in a way that makes no sense."""
