"""The syntax tree of one Lark file: what is written, before names, templates and imports are resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from stackmask.grammar.ebnf.syntax import Part
from stackmask.grammar.ir import Expr, Span, immutable


@immutable
class Text:
    """``"text"`` and ``"text"i``."""

    value: str
    flags: str
    span: Span
    depth: int = 1


@immutable
class Pattern:
    """``/regex/flags``; ``value`` as it is written, and begins one character after the span."""

    value: str
    flags: str
    span: Span
    depth: int = 1


@immutable
class Range:
    """``"a".."z"``. ``length``: of the class of characters that Lark makes of it as it is written."""

    low: str
    high: str
    span: Span
    length: int
    depth: int = 1


@immutable
class Name:
    """A rule, a terminal, or a parameter of the template that it stands in."""

    name: str
    span: Span
    depth: int = 1


@immutable
class Use:
    """``template{argument, …}``."""

    name: str
    arguments: tuple[Node, ...]
    span: Span
    depth: int


@immutable
class Leaf:
    """What is finished already: a special token, or the reference to a part that is no Lark."""

    expr: Expr
    span: Span
    what: str
    depth: int = 1


@immutable
class Group:
    """Elements in sequence (``op=" "``), alternatives (``"|"``) or operands of ``"&"``; none at all is the empty text."""

    op: Literal[" ", "|", "&"]
    items: tuple[Node, ...]
    span: Span
    depth: int


@immutable
class Repetition:
    """``a?``, ``a ~ 2..5``, ``[a]``. ``length``: of its sign in a regular expression, such as ``{2,5}``."""

    item: Node
    min: int
    max: int | None
    span: Span
    length: int
    depth: int


@immutable
class Negation:
    """``~X``, of terminals."""

    item: Node
    span: Span
    depth: int


Node: TypeAlias = Text | Pattern | Range | Name | Use | Leaf | Group | Repetition | Negation


_SINGLE: Final = frozenset({Text, Pattern, Range, Name, Leaf})


def subnodes(node: Node) -> tuple[Node, ...]:
    """Return the direct parts of a node."""
    if isinstance(node, Group):
        return node.items
    if isinstance(node, Repetition | Negation):
        return (node.item,)
    if isinstance(node, Use):
        return node.arguments
    return ()


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all its parts, in the order they are written."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if type(current) not in _SINGLE:
            stack.extend(reversed(subnodes(current)))


def is_terminal_name(name: str) -> bool:
    """Return whether this is the name of a terminal; else it is one of a rule."""
    return name.lstrip("_")[:1].isupper()


@immutable
class Definition:
    """A rule or terminal. ``how``: whether it is new, or takes the place of another one, or adds alternatives to it."""

    name: str
    parameters: tuple[Name, ...]
    body: Node
    span: Span
    priority: int | None = None
    how: Literal["define", "override", "extend"] = "define"


@immutable
class Import:
    """``%import path.X -> Y`` or ``%import path (X, Y)``: the names there, and here."""

    path: tuple[str, ...]
    is_relative: bool
    items: tuple[tuple[Name, Name], ...]
    span: Span


@dataclass(slots=True)
class Module:
    """One parsed file."""

    source: int
    definitions: list[Definition] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    ignored: list[Node] = field(default_factory=list)
    declared: list[Name] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)  # names whose definitions have errors
    notes: list[tuple[Span, str, str]] = field(default_factory=list)  # place, what, and what came of it
    parts: dict[str, Part] = field(
        default_factory=dict
    )  # that are no Lark, by the names that leaves refer to
