"""A fixed indentation, as ``json.dumps(indent=…)`` writes it: a line break and as many indents as the depth.

The depth is part of the semantic state: a pair of the depth and of what other actions of the grammar keep. An
opening bracket makes it one deeper, and every array and object is a scope, which restores it. So the rules are the
same at all depths, and there is no bound on them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from stackmask.grammar import ir

START: Final = (0, None)
"""The state that a text begins in: depth 0, and nothing else is known."""


class OfDepth:
    """What asks for the depth, or changes it, and is not to be told of anything else."""

    __slots__ = ()


class Deeper(OfDepth):
    """The action of an opening bracket."""

    __slots__ = ()
    never_forbids = True

    def __call__(self, state: Hashable, _: bytes) -> Hashable:
        """Return the state one level deeper."""
        assert isinstance(state, tuple)
        return (state[0] + 1, state[1])


class LineBreak(OfDepth):
    """A resolver: text, a line break and the indentation of the depth, or of another one."""

    __slots__ = ("before", "indent", "offset")

    def __init__(self, before: bytes, indent: bytes, offset: int) -> None:
        self.before = before
        self.indent = indent
        self.offset = offset

    @property
    def written(self) -> bytes:
        """What diagrams show."""
        return self.before

    def __call__(self, state: Hashable) -> ir.Expr:
        """Return the text as an expression. Cost: its length."""
        assert isinstance(state, tuple)
        return ir.Literal(self.before + b"\n" + self.indent * (state[0] + self.offset))


class BesideDepth:
    """An action on what the state holds beside the depth."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[Hashable, bytes], Hashable | None]) -> None:
        self.action = action

    def __call__(self, state: Hashable, text: bytes) -> Hashable | None:
        assert isinstance(state, tuple)
        inner = self.action(state[1], text)
        return None if inner is None else (state[0], inner)


class ResolverBesideDepth:
    """A resolver that asks for what the state holds beside the depth."""

    __slots__ = ("resolver",)

    def __init__(self, resolver: Callable[[Hashable], ir.Expr]) -> None:
        self.resolver = resolver

    def __call__(self, state: Hashable) -> ir.Expr:
        assert isinstance(state, tuple)
        return self.resolver(state[1])
