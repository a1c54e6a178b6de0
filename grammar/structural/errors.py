"""What is wrong with a structural tag, and where."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class StructuralTagError(StackmaskError):
    """A structural tag that cannot be used; ``pointer`` says where in it, as a JSON pointer."""

    pointer: str
    """The place in the tag, as a JSON pointer; empty for the whole of it."""

    problem: str
    """What is wrong there."""

    def __init__(self, pointer: str, problem: str) -> None:
        self.pointer = pointer
        self.problem = problem
        super().__init__(f"structural tag, at {pointer or '/'}: {problem}")
