"""The exceptions: all are RuntimeErrors, and StackmaskErrors too."""

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
