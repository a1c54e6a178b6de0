"""Atomic groups and possessive quantifiers: what is matched first is not given back, which changes the language.

Where the order of tries comes down to lookaheads the result is exact:

    (?>r|s)     r, or s where r cannot be matched
    (?>x y)     x (?>y), where x always takes the same number of characters
    (?>x{m,n})  x as often as possible: n times, or fewer with no further x after them

Everything else is refused.
"""

from __future__ import annotations

from typing import Final

from stackmask.grammar import ir
from stackmask.grammar.regex.pattern.tree import Look, Node, node_choice, node_sequence, widths

MAX_OPTIONS: Final = 50  # alternatives, of which each repeats those before it


class NotAtomic(Exception):
    """A node whose order of tries cannot be written as lookaheads."""


def atomic(node: Node, lazy: dict[int, ir.Repeat], offset: int, as_bytes: bool) -> tuple[Node, bool]:
    """Return the node without giving back, and whether assertions were needed.

    ``lazy``: the repetitions that try few rounds first, by identity. What always takes the same number of characters can
    end in one place only.
    Raises: NotAtomic.
    """

    def fixed_length(node: Node) -> int | None:
        least, most = widths(node, as_bytes)
        return least if least == most else None

    if fixed_length(node) is not None:
        return node, False
    match node:
        case ir.Sequence(items) if all(fixed_length(item) is not None for item in items[:-1]):
            last, asserts = atomic(items[-1], lazy, offset, as_bytes)
            return node_sequence((*items[:-1], last)), asserts
        case ir.Choice(items) if len(items) <= MAX_OPTIONS:
            options: list[Node] = []
            before: list[Node] = []
            for item in items:
                option, _ = atomic(item, lazy, offset, as_bytes)
                options.append(node_sequence((*before, option)) if before else option)
                before.append(Look(item, True, True, offset))  # mutant: atomic-order
            return node_choice(options), True
        case ir.Repeat(item, low, high):
            once = fixed_length(item)
            if id(node) in lazy:
                if once is not None:
                    return ir.Repeat(item, low, low), False
            elif once:
                last_round: Node = Look(item, True, True, offset)
                if high is None:
                    return node_sequence((node, last_round)), True
                fewer = ir.Repeat(item, low, high - 1)
                enough = node_sequence((fewer, last_round))
                return ir.Choice((ir.Repeat(item, high, high), enough)), True
            elif (low, high) == (0, 1):
                first, _ = atomic(item, lazy, offset, as_bytes)
                none = Look(item, True, True, offset)
                return node_choice((first, none)), True
    raise NotAtomic
