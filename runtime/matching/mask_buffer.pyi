from stackmask.grammar.source.diagnostics import StackmaskError

class MatcherError(StackmaskError):
    """A call that does not fit the matcher: a rollback too far, a mask of the wrong type or shape."""

class EmptyMaskError(MatcherError):
    """A mask that allows no token, where the vocabulary has no stop token that could end the text."""

    def __init__(self, accepting: bool) -> None: ...

class MatcherTypeError(MatcherError, TypeError):
    """An argument of a matcher's call that has another type."""

def as_integer(what: str, value: object) -> int:
    """Return an integer as one of Python. Raises: MatcherTypeError if it is none."""
