"""The result of readers: expressions in which assertions may occur as zero-width items.

An assertion is not an expression of ``ir``; ``assertions.py`` compiles it away. A *side* describes the
character allowed on one side of a position: the ranges of code points, and whether the edge of the text is
allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Final, TypeAlias, cast

from stackmask.grammar import ir
from stackmask.grammar.languages.forms import concat
from stackmask.grammar.source import charclass
from stackmask.grammar.source.charclass import Ranges

Side: TypeAlias = tuple[Ranges, bool]
Pairs: TypeAlias = tuple[tuple[Side, Side], ...]

ANYTHING: Final[Side] = (charclass.ANY, True)
EDGE: Final[Side] = ((), True)
NEWLINE: Final[Ranges] = ((0x0A, 0x0A),)


@ir.immutable
class Edge:
    """An assertion on the two characters around a position: they satisfy one of the pairs (left, right)."""

    pairs: Pairs
    offset: int = field(default=0, compare=False)
    what: str = field(default="anchor", compare=False)


@ir.immutable
class Look:
    """A lookahead or lookbehind: the body can (``negative``: cannot) be matched from here, or up to here."""

    body: Node
    ahead: bool
    negative: bool
    offset: int = field(default=0, compare=False)

    @property
    def what(self) -> str:
        """The name of the construct."""
        return ("negative " if self.negative else "") + ("lookahead" if self.ahead else "lookbehind")


Node: TypeAlias = "ir.Expr | Edge | Look"


class TooEntangled(Exception):
    """The error that assertions cannot be split; ``node`` is one of them."""

    def __init__(self, node: Edge | Look | None = None) -> None:
        super().__init__()
        self.node = node


START: Final[Pairs] = ((EDGE, ANYTHING),)
END: Final[Pairs] = ((ANYTHING, EDGE),)
LINE_START: Final[Pairs] = (((NEWLINE, True), ANYTHING),)
LINE_END: Final[Pairs] = ((ANYTHING, (NEWLINE, True)),)


def word_boundary(word: Ranges, other: Ranges) -> Pairs:
    """Return the pairs for a position with a word character on exactly one side."""
    return (((word, False), (other, True)), ((other, True), (word, False)))


def not_word_boundary(word: Ranges, other: Ranges) -> Pairs:
    """Return the pairs for a position with word characters on both sides or on none."""
    return (((word, False), (word, False)), ((other, True), (other, True)))


# an assertion is no ``ir.Expr``, but these hold it all the same until it is compiled away


def node_sequence(items: Iterable[Node]) -> ir.Expr:
    """Return the concatenation of the nodes."""
    return ir.Sequence(tuple(items))  # type: ignore[arg-type]


def node_choice(items: Iterable[Node]) -> ir.Expr:
    """Return the alternatives of the nodes."""
    return ir.Choice(tuple(items))  # type: ignore[arg-type]


def node_repeat(item: Node, low: int, high: int | None) -> ir.Repeat:
    """Return a repeated node."""
    return ir.Repeat(item, low, high)  # type: ignore[arg-type]


# recursion is as deep as groups are nested, which the reader limits
def takes_nothing(node: Node) -> bool:
    """Return whether a node consists only of assertions, so that it never reads a character."""
    match node:
        case Edge() | Look():
            return True
        case ir.Sequence(items) | ir.Choice(items):
            return all(takes_nothing(item) for item in items)
        case ir.Repeat(item):
            return takes_nothing(item)
        case ir.Literal(data):
            return not data
    return False


def node_children(node: Node) -> tuple[Node, ...]:
    """Return the direct subexpressions, including the bodies of assertions."""
    match node:
        case Look(body):
            return (body,)
        case Edge():
            return ()
        case ir.Repeat(item):
            return (item,)
        case ir.Sequence(items) | ir.Choice(items):
            return items
        case _:
            return ()


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the node with its direct subexpressions replaced; the same object if none changes."""
    children = node_children(node)
    parts = [change(child) for child in children]
    if all(a is b for a, b in zip(parts, children, strict=True)):
        return node
    match node:
        case Look():
            return Look(parts[0], node.ahead, node.negative, node.offset)
        case ir.Repeat(_, low, high):
            return node_repeat(parts[0], low, high)
    return node_sequence(parts) if isinstance(node, ir.Sequence) else node_choice(parts)


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield the node and all its descendants."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(node_children(current)))


def straight(root: Node, search: bool, count: int, any_text: ir.Expr) -> ir.Expr | None:
    """Return the whole-text matches in the usual case of anchors only at the ends; None otherwise."""
    items: tuple[Node, ...] = root.items if isinstance(root, ir.Sequence) else (root,)
    first = isinstance(items[0], Edge) and items[0].pairs == START
    last = isinstance(items[-1], Edge) and items[-1].pairs == END
    if first + last != count or len(items) == 1:
        return None
    plain = cast("list[ir.Expr]", [*items[first : len(items) - last]])
    if search and not first:
        plain.insert(0, any_text)
    if search and not last:
        plain.append(any_text)
    return concat(plain)


def widths(node: Node, as_bytes: bool = False) -> tuple[int, int | None]:
    """Return the least and the greatest number of characters (``as_bytes``: of bytes) of a node; None: no
    bound.

    Recursion is as deep as groups are nested, which the reader limits.
    """
    match node:
        case ir.Literal(data):
            count = len(data if as_bytes else data.decode(errors="replace"))
            return count, count
        case ir.CharClass() | ir.ByteClass():
            return 1, 1
        case ir.Sequence(items):
            parts = [widths(item, as_bytes) for item in items]
            highs = [high for _, high in parts]
            return sum(low for low, _ in parts), None if None in highs else sum(h or 0 for h in highs)
        case ir.Choice(items) if items:
            parts = [widths(item, as_bytes) for item in items]
            highs = [high for _, high in parts]
            return min(low for low, _ in parts), None if None in highs else max(h or 0 for h in highs)
        case ir.Repeat(item, low, high):
            least, most = widths(item, as_bytes)
            if most == 0 or high == 0:
                return 0, 0
            return least * low, None if most is None or high is None else most * high
    return 0, 0
