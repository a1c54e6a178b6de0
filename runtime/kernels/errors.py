"""Errors of kernels."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class BitmaskError(StackmaskError):
    """The arguments of a kernel do not fit together. The message names the argument and both values."""
