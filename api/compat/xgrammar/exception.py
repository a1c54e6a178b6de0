"""The exceptions: each is both a RuntimeError and a StackmaskError."""

from stackmask.runtime.compat.xgrammar.errors import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)

__all__ = [
    "DeserializeFormatError",
    "DeserializeVersionError",
    "InvalidJSONError",
    "InvalidStructuralTagError",
]
