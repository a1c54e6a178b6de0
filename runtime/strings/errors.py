"""Errors of questions about whole strings."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class SampleError(StackmaskError):
    """No text could be drawn, or none can be asked about."""
