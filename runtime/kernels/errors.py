"""What kernels raise."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class BitmaskError(StackmaskError):
    """Arguments of a kernel that do not fit together; names the argument and both values."""
