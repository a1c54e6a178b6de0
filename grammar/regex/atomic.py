"""Atomic groups and possessive quantifiers: what is matched first is not given back, which changes the language.

Where the order of tries comes down to lookaheads the result is exact:

    (?>r|s)     r, or s where r cannot be matched
    (?>x y)     x (?>y), where x can match in one way only
    (?>c{m,n})  c as often as possible: n times, or fewer with no further c behind them

Everything else is refused.
"""

from __future__ import annotations

from typing import Any, Final, cast

from stackmask.grammar import ir
from stackmask.grammar.regex.tree import Edge, Look, Node

MAX_OPTIONS: Final = 50  # alternatives, of which each repeats those before it


class NotAtomic(Exception):
    """A node whose order of tries cannot be written as lookaheads."""


def atomic(node: Node, lazy: dict[int, ir.Repeat], offset: int) -> tuple[Node, bool]:
    """Return the node without giving back, and whether assertions were needed.

    ``lazy``: the repetitions that try few rounds first, by identity.
    Raises: NotAtomic.
    """
    if single_way(node):
        return node, False
    match node:
        case ir.Sequence(items) if all(single_way(item) for item in items[:-1]):
            last, asserts = atomic(items[-1], lazy, offset)
            return ir.Sequence(cast("tuple[Any, ...]", (*items[:-1], last))), asserts
        case ir.Choice(items) if len(items) <= MAX_OPTIONS:
            options: list[Node] = []
            before: list[Node] = []
            for item in items:
                option, _ = atomic(item, lazy, offset)
                options.append(ir.Sequence(cast("tuple[Any, ...]", (*before, option))) if before else option)
                before.append(Look(item, True, True, offset))
            return ir.Choice(cast("tuple[Any, ...]", tuple(options))), True
        case ir.Repeat(item, low, high):
            if high == low and single_way(item):
                return node, False
            if id(node) in lazy:
                if single_way(item):
                    return ir.Repeat(item, low, low), False
            elif one_character(item):
                enough = ir.Sequence(
                    cast("tuple[Any, ...]", (ir.Repeat(item, low, high), Look(item, True, True, offset)))
                )
                if high is None:
                    return enough, True
                return ir.Choice((ir.Repeat(item, high, high), enough)), True
            elif (low, high) == (0, 1):
                once, _ = atomic(item, lazy, offset)
                none = Look(item, True, True, offset)
                return ir.Choice(cast("tuple[Any, ...]", (once, none))), True
    raise NotAtomic


def single_way(node: Node) -> bool:
    """Tell whether the node can match at a place in one way only: text of one fixed length without choices."""
    match node:
        case ir.Literal() | ir.CharClass() | ir.ByteClass() | Edge() | Look():
            return True
        case ir.Sequence(items):
            return all(single_way(item) for item in items)
        case ir.Repeat(item, low, high):
            return low == high and single_way(item)
    return False


def one_character(node: Node) -> bool:
    """Tell whether the node is one character, in one way."""
    match node:
        case ir.CharClass() | ir.ByteClass():
            return True
        case ir.Literal(data):
            return len(data) == 1 or len(data.decode("utf-8", "replace")) == 1
    return False
