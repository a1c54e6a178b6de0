"""Errors of tools, styles and tool choices, and of texts that are not turns."""

from __future__ import annotations

from stackmask.grammar.source.diagnostics import StackmaskError


class ToolError(StackmaskError):
    """A tool, a style or an option cannot be used. ``pointer``: its location in the request."""

    pointer: str
    """The place in the request, as a JSON pointer; empty for the whole request."""

    def __init__(self, pointer: str, problem: str) -> None:
        self.pointer = pointer
        super().__init__(f"at {pointer or '/'}: {problem}")


class TurnError(StackmaskError):
    """The text is not a turn of its style, or calls an unknown tool. ``offset``: the position in characters."""

    offset: int
    """The place in the text, in characters from 0."""

    problem: str
    """The problem at this place."""

    is_cut: bool
    """Whether the text is only truncated, so that more text could complete it; otherwise it is malformed."""

    def __init__(self, offset: int, problem: str, is_cut: bool = False) -> None:
        self.offset = offset
        self.problem = problem
        self.is_cut = is_cut
        super().__init__(f"at character {offset}: {problem}")
