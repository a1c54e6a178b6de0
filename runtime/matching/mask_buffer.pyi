from stackmask.grammar.source.diagnostics import StackmaskError

class MatcherError(StackmaskError):
    """A call that does not fit the matcher: a rollback too far, a mask of the wrong type or shape."""
