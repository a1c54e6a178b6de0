"""A layout that the text chooses: each array and object on one line, or an item or member a line.

What stands after an opening bracket decides for what is inside of it: nothing, one blank, or a line break and one more
indent than outside. What separates items and what stands before the closing bracket follows from that. The first line
break decides what an indent is. So a text that ``json.dumps`` writes is one of these, compact, with its own separators
or indented, and so are mixtures, as people and models write them: short arrays on one line in an indented object.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple

from stackmask.grammar import ir
from stackmask.grammar.json_schema.write.indentation import OfDepth

INDENTS: Final = (b"  ", b"    ", b"\t")


class Layout(NamedTuple):
    """How the innermost array or object is laid out.

    ``indent``: of one level, None before the first line break. ``depth``: how many arrays and objects around here have
    their items on lines. ``inside``: what stands before the closing bracket: nothing, a blank, or a line break.
    """

    indent: bytes | None
    depth: int
    inside: bytes

    def line_break(self, depth: int) -> bytes:
        """Return a line break and so many indents."""
        assert self.indent is not None
        return b"\n" + self.indent * depth


START: Final = (Layout(None, 0, b""), None)
"""The state that a text begins in: nothing is chosen, and nothing else is known."""


def _layout(state: Hashable) -> Layout:
    assert isinstance(state, tuple)
    found = state[0]
    assert isinstance(found, Layout)
    return found


class Bracket(OfDepth):
    """The action of an opening bracket: until something else follows, nothing stands inside of it."""

    __slots__ = ()
    never_forbids = True

    def __call__(self, state: Hashable, _: bytes) -> Hashable:
        """Return the state inside of the bracket."""
        assert isinstance(state, tuple)
        return (_layout(state)._replace(inside=b""), state[1])


class Opened(OfDepth):
    """The action of blanks after an opening bracket."""

    __slots__ = ()
    never_forbids = True

    def __call__(self, state: Hashable, text: bytes) -> Hashable:
        """Return the state inside of the bracket."""
        assert isinstance(state, tuple)
        layout = _layout(state)
        if text.startswith(b"\n"):
            indent = text[1:] if layout.indent is None else layout.indent
            layout = Layout(indent, layout.depth + 1, b"\n")
        else:
            layout = layout._replace(inside=text)
        return (layout, state[1])


class Opening(OfDepth):
    """A resolver: blanks that may stand after an opening bracket. ``written``: what diagrams show."""

    __slots__ = ()
    written = b""

    def __call__(self, state: Hashable) -> ir.Expr:
        """Return the texts as an expression. Cost: their length."""
        layout = _layout(state)
        if layout.indent is None:
            breaks = [ir.Literal(b"\n" + indent) for indent in INDENTS]
        else:
            breaks = [ir.Literal(layout.line_break(layout.depth + 1))]
        return ir.Choice((_BLANK, *breaks))


class Separator(OfDepth):
    """A resolver: the comma between items and what follows it. ``written``: what diagrams show."""

    __slots__ = ()
    written = b","

    def __call__(self, state: Hashable) -> ir.Expr:
        """Return the text as an expression. Cost: its length."""
        layout = _layout(state)
        if layout.inside == b"\n":
            return ir.Literal(b"," + layout.line_break(layout.depth))
        return _COMMA


class Closing(OfDepth):
    """A resolver: a closing bracket and what stands before it."""

    __slots__ = ("bracket",)

    def __init__(self, bracket: bytes) -> None:
        self.bracket = bracket

    @property
    def written(self) -> bytes:
        """What diagrams show."""
        return self.bracket

    def __call__(self, state: Hashable) -> ir.Expr:
        """Return the text as an expression. Cost: its length."""
        layout = _layout(state)
        if layout.inside == b"\n":
            return ir.Literal(layout.line_break(layout.depth - 1) + self.bracket)
        return ir.Literal(layout.inside + self.bracket)


_BLANK: Final = ir.Literal(b" ")
_COMMA: Final = ir.Sequence((ir.Literal(b","), ir.Repeat(_BLANK, 0, 1)))
OPEN: Final = ir.Repeat(ir.Capture(ir.Dynamic(Opening()), Opened()), 0, 1)
CLOSE: Final = {bracket: ir.Dynamic(Closing(bracket)) for bracket in (b"]", b"}")}
ITEM: Final = ir.Dynamic(Separator())
MEMBER: Final = ir.Sequence((ir.Literal(b":"), ir.Repeat(_BLANK, 0, 1)))
