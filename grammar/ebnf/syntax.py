"""The syntax tree of one grammar file: what is written, before names, skip and imports are resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from stackmask.grammar.ebnf.bodies import Body
from stackmask.grammar.ir import Expr, Span, immutable
from stackmask.grammar.source.diagnostics import Diagnostic


@immutable
class Leaf:
    """A terminal that is finished already: literal, class, regex, special token, ``@top``."""

    expr: Expr
    span: Span
    depth: int = 1


@immutable
class Name:
    name: str
    span: Span
    depth: int = 1


@immutable
class Group:
    """Elements in sequence (``op=" "``), alternatives (``"|"``) or operands of ``"&"``; ``"()"`` wraps one.

    ``A - B`` is the ``&`` of A and ``!B``.
    """

    op: str
    items: tuple[Node, ...]
    span: Span
    depth: int


@immutable
class Repetition:
    item: Node
    min: int
    max: int | None
    span: Span
    depth: int


@immutable
class Prefix:
    """``!x`` (op ``"!"``), ``!>> x`` (``"!>>"``), ``@push(x)`` (``"push"``) or ``@scope(x)`` (``"scope"``)."""

    op: str
    item: Node
    span: Span
    depth: int


Node: TypeAlias = Leaf | Name | Group | Repetition | Prefix


def subnodes(node: Node) -> tuple[Node, ...]:
    """Return the direct parts of a node."""
    if isinstance(node, Group):
        return node.items
    if isinstance(node, Repetition | Prefix):
        return (node.item,)
    return ()


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all its parts, in the order they are written."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(subnodes(current)))


@immutable
class Definition:
    name: str
    body: Node
    span: Span


@immutable
class Import:
    """``%import target (name as local, …)``; ``quoted`` targets are paths, the others bundled grammars."""

    target: str
    quoted: bool
    items: tuple[tuple[Name, Name], ...]
    span: Span


class Value(NamedTuple):
    """An argument of a macro: a string, number, flag, name or tuple; ``name``: of a named one, ``""`` for others."""

    kind: str
    text: str
    span: Span
    name: str = ""
    named_at: int = 0
    items: tuple[Value, ...] | None = None


class Call(NamedTuple):
    """A macro with its arguments, and what is wrong with how they are written."""

    name: str
    values: list[Value]
    span: Span
    problems: list[Diagnostic]


class Dispatch(NamedTuple):
    """The strings of a macro: free text up to triggers, or the chunks of a text (``triggers`` alone).

    ``stops``: what may end the free text; ``may_end``: whether it may also end anywhere.
    """

    triggers: tuple[str, ...]
    excludes: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    may_end: bool = True


class Part(NamedTuple):
    """A part that is no EBNF, and its text: ``%json``, ``%sql``, ``%marker``, a grammar given by name, a macro."""

    kind: str
    text: str
    span: Span
    dispatch: Dispatch | None = None
    start: int = 0  # of the text, where that is JSON


@dataclass(slots=True)
class Module:
    """One parsed file. ``known`` holds every name that has a rule head, also where the rule is broken.

    ``bodies``: the JSON values in it, by the offset of their directive. ``parts``: by the name that a leaf refers to.
    ``calls``: the macros in it, by their offsets. ``looks``: look-ahead at the ends of rules, which changes no language.
    """

    source: int
    definitions: dict[str, Definition] = field(default_factory=dict)
    known: dict[str, Span] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    skips: list[Node] = field(default_factory=list)
    lexical: list[Name] = field(default_factory=list)
    syntactic: list[Name] = field(default_factory=list)
    stack: tuple[bytes, ...] | None = None
    stack_span: Span | None = None
    bodies: dict[int, Body] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)
    looks: list[Node] = field(default_factory=list)
    parts: dict[str, Part] = field(default_factory=dict)
