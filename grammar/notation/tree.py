"""The syntax tree of one EBNF or Lark file, before its names and imports are resolved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from stackmask.grammar.ir import EPSILON, Expr, Span, TokenTerminal, immutable
from stackmask.grammar.regex.pattern.reader import MAX_COUNT, read_number
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend


@immutable
class Terminal:
    """A finished terminal. ``what``: its name in messages, unless it is plain text."""

    expr: Expr
    span: Span
    depth: int = 1
    what: str = ""


@immutable
class Name:
    """The name of a rule, of a terminal, or of a parameter of the enclosing template."""

    name: str
    span: Span
    depth: int = 1


@immutable
class Group:
    """Elements in sequence (``op=" "``), alternatives (``"|"``) or operands of ``"&"``; ``"()"``: one
    element.

    ``A - B`` is ``&`` with the operands A and ``!B``. An empty sequence is the empty string.
    """

    op: Literal[" ", "|", "&", "()"]
    items: tuple[Node, ...]
    span: Span
    depth: int


@immutable
class Repetition:
    """``a?``, ``a{2,5}``, Lark's ``[a]``. ``length``: the length of its operator in a regex, as in ``{2,5}``."""

    item: Node
    min: int
    max: int | None
    span: Span
    depth: int
    length: int = 0


@immutable
class Prefix:
    """``!x`` or ``~x`` (op ``"!"``), ``!>> x`` (``"!>>"``), ``@push(x)`` (``"push"``), ``@new(x)`` (``"new"``) or ``@scope(x)`` (``"scope"``)."""

    op: str
    item: Node
    span: Span
    depth: int


@immutable
class Text:
    """``"text"`` and ``"text"i`` of Lark."""

    value: str
    flags: str
    span: Span
    depth: int = 1


@immutable
class Pattern:
    """Lark's ``/regex/flags``; ``value``: its source text, one character after the start of the span."""

    value: str
    flags: str
    span: Span
    depth: int = 1


@immutable
class Range:
    """``"a".."z"``. ``length``: the length of the character class that Lark creates."""

    low: str
    high: str
    span: Span
    length: int
    depth: int = 1


@immutable
class Use:
    """``template{argument, …}``."""

    name: str
    arguments: tuple[Node, ...]
    span: Span
    depth: int


@immutable
class CountedUse:
    """A use of a counting rule: llguidance's ``rule::value``. ``value``: the number, or a function of it."""

    name: str
    value: Any
    span: Span
    depth: int = 1


@immutable
class Guarded:
    """An alternative with ``%if``, which exists if the condition holds for the number of its rule."""

    item: Node
    condition: Any
    span: Span
    depth: int


Node: TypeAlias = (
    CountedUse | Guarded | Terminal | Name | Group | Repetition | Prefix | Text | Pattern | Range | Use
)

MAX_DEPTH: Final = 100  # levels of groups, operators and quantifiers in one rule
EMPTY: Final = Terminal(EPSILON, Span(-1, -1))  # an alternative with nothing in it has no place


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all its parts, in source order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        kind = type(current)
        if kind is Group:
            stack.extend(reversed(current.items))  # type: ignore[union-attr]
        elif kind is Repetition or kind is Prefix or kind is Guarded:
            stack.append(current.item)  # type: ignore[union-attr]
        elif kind is Use:
            stack.extend(reversed(current.arguments))  # type: ignore[union-attr]


def names_in(node: Node) -> list[Name]:
    """Return the names in a node, in source order."""
    return [part for part in walk_nodes(node) if type(part) is Name]


class Attribute(NamedTuple):
    """An attribute of llguidance, in brackets after the name of a rule. ``value``: a terminal, or a number."""

    value: Node | int | None
    span: Span


@immutable
class RuleDefinition:
    """A rule or terminal. ``how``: whether it is new, replaces another one, or extends another one."""

    name: str
    body: Node
    span: Span
    parameters: tuple[Name, ...] = ()
    priority: int | None = None
    how: Literal["define", "override", "extend"] = "define"
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    counts: bool = False


@immutable
class Import:
    """``%import target (name as local, …)`` with pairs of names. ``is_path``: relative to the file, else bundled."""

    target: str
    is_path: bool
    items: tuple[tuple[Name, Name], ...]
    span: Span


class Dispatch(NamedTuple):
    """The strings of a macro: free text up to triggers, or the chunks of a text (only ``triggers``).

    ``stops``: strings that may end the free text; ``may_end``: whether the text may also end anywhere.
    """

    triggers: tuple[str, ...]
    excludes: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    may_end: bool = True


class Part(NamedTuple):
    """A part in another language, with its text: ``%json``, ``%sql``, ``%marker``, a named grammar, or a macro."""

    kind: str
    text: str
    span: Span
    dispatch: Dispatch | None = None
    start: int = 0  # of the text, where that is JSON
    numbers: str | None = None  # of a JSON Schema: how they are written, as the option of this name


@dataclass(slots=True)
class Module:
    """One parsed file. ``known`` contains every defined name, even if its definition is broken.

    ``rules``: the first definition of each name. ``skips``: expressions allowed between terminals. ``parts``:
    parts by the names to which leaves refer. ``nested``: whole grammars in the text, by such names.
    ``options``: llguidance's options. ``looks``: look-ahead at the ends of rules, without effect on the
    language. ``notes``: constructs without effect, with their positions and reasons.
    """

    source: int
    definitions: list[RuleDefinition] = field(default_factory=list)
    rules: dict[str, RuleDefinition] = field(default_factory=dict)
    known: dict[str, Span] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    skips: list[Node] = field(default_factory=list)
    lexical: list[Name] = field(default_factory=list)
    syntactic: list[Name] = field(default_factory=list)
    declared: list[Name] = field(default_factory=list)
    stack: tuple[bytes, ...] | None = None
    stack_span: Span | None = None
    looks: list[Node] = field(default_factory=list)
    parts: dict[str, Part] = field(default_factory=dict)
    nested: dict[str, Module] = field(default_factory=dict)
    options: dict[str, bool] = field(default_factory=dict)
    notes: list[tuple[Span, str, str]] = field(default_factory=list)

    def define(self, definition: RuleDefinition) -> None:
        """Add a definition."""
        self.definitions.append(definition)
        self.rules.setdefault(definition.name, definition)
        self.known.setdefault(definition.name, definition.span)

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes of definitions, and of skipped expressions."""
        for body in (*(definition.body for definition in self.definitions), *self.skips):
            yield from walk_nodes(body)


# -- What reading one grammar file takes in either notation: nodes, JSON, ids of tokens. -----------------

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BLANKS: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()
_ID_RANGE: Final = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")


class TreeMaker:
    """Builds the nodes of one text, and reports excessive nesting."""

    def __init__(self, text: str, problems: Collector) -> None:
        self.text, self.problems = text, problems
        self.too_deep = False

    def span(self, start: int, end: int) -> Span:
        return Span(start, end, self.problems.source)

    def group(self, op: Literal[" ", "|", "&"], items: Sequence[Node], span: Span) -> Node:
        return self.checked(Group(op, tuple(items), span, 1 + max([item.depth for item in items])))

    def checked(self, node: Group | Repetition | Prefix | Use | Guarded) -> Node:
        """Return the node, or an empty one if it is too deeply nested, which is reported once per rule."""
        if node.depth <= MAX_DEPTH:
            return node
        if not self.too_deep:
            self.too_deep = True
            start = node.span.start
            message, help = (
                f"more than {MAX_DEPTH} levels of nesting",
                "move inner parts into rules of their own",
            )
            self.problems.add("G015", message, start, start + 1, help=help)
        return Terminal(EPSILON, node.span)


def without_surrogates(text: str, problems: Collector) -> str:
    """Return a text without lone surrogates, which are reported."""
    for bad in _SURROGATE.finditer(text):
        problems.add("G006", "half of a surrogate pair is not a character", bad.start(), bad.end())
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def read_json(
    text: str, at: int, directive: str, example: str, problems: Collector
) -> tuple[Any, int, int | None]:
    """Return the JSON value after a directive, its start, and its end, or no end if it is invalid (reported)."""
    blanks = _BLANKS.match(text, at)
    start = blanks.end() if blanks else at
    spend(20)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        place = error.pos if isinstance(error, json.JSONDecodeError) else start
        spend(place // 500)  # such an error counts the lines before it
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it nests too deeply"
        message = f"`{directive}` needs JSON: {reason}"
        problems.add("G020", message, place, place + 1, label="here", help=f"for example {example}")
        return None, start, None
    spend((end - start) // 16)
    return value, start, end


def read_ids(written: str, span: Span, problems: Collector) -> TokenTerminal:
    """Return the tokens for comma-separated ids and ranges; with a leading `^`, return all other tokens."""
    ranges: list[tuple[int, int]] = []
    for piece in written.removeprefix("^").split(","):
        spend(2)
        match = _ID_RANGE.fullmatch(piece)
        low = read_number(match[1]) if match else -1
        high = read_number(match[2]) if match and match[2] else low
        if 0 <= low <= high <= MAX_COUNT:
            ranges.append((low, high))
            continue
        what = f"`{piece.strip():.40}` is not a token id or a range of ids"
        message = what if piece.strip() else "a token id is missing"
        problems.at(span, "G017", message, "for example `<[5]>`, `<[1-5,9]>` or `<[^5]>`")
    return TokenTerminal((), tuple(ranges), written.startswith("^"), span)
