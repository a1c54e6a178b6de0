from stackmask.grammar.source.diagnostics import StackmaskError

class MatcherError(StackmaskError):
    """A call that is invalid for the matcher: a rollback too far, a mask of the wrong type or shape."""

class EmptyMaskError(MatcherError):
    """A mask allows no token, and the vocabulary has no stop token that could end the text."""

    def __init__(self, accepting: bool) -> None: ...

class MatcherTypeError(MatcherError, TypeError):
    """An argument of a matcher's method has the wrong type."""

def as_integer(what: str, value: object) -> int:
    """Return an integer as a Python int. Raises: MatcherTypeError if it is not an integer."""
