"""Reading the tokens of one grammar file in order, and saying what is wrong where one cannot stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from stackmask.grammar.ir import EPSILON, Span
from stackmask.grammar.notation.tree import MAX_DEPTH, Group, Name, Node, Prefix, Repetition, Terminal, Use
from stackmask.grammar.regex.inline_regex import MAX_COUNT, read_number
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BLANKS: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()
_ID_RANGE: Final = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")


class Token(NamedTuple):
    """``kind``: which of the tokens of a notation; of signs the sign itself. ``value``: what was read of it already."""

    kind: str
    text: str
    start: int
    end: int
    value: Any = None


class SyntaxProblem(Exception):
    """A statement that is broken, and was reported."""


@dataclass(slots=True)
class OpenGroup:
    """An open bracket, or the whole body: its finished alternatives, and the one that is read.

    ``name``: of the template that the arguments in it are for. ``operands``: of the operator that is read. ``negations``:
    the signs before the next item. ``is_atom``: whether the last item can be repeated.
    """

    open: Token
    name: Name | None = None
    alternatives: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    operands: list[Node] = field(default_factory=list)
    negations: list[Token] = field(default_factory=list)
    arguments: list[Node] = field(default_factory=list)
    is_atom: bool = False
    wants: Token | None = None  # the operator that an operand must still follow
    is_taken_away: bool = False
    is_after_follow: bool = False


class Stream:
    """The tokens of a text, the last of which marks its end, and the place that is read."""

    def __init__(self, text: str, tokens: list[Token], problems: Collector) -> None:
        # after the last token comes the last one again
        self.text, self.tokens, self.problems = text, [*tokens, tokens[-1]], problems
        self.last = len(tokens) - 1
        self.at = 0
        self.too_deep = False

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def span(self, start: int, end: int) -> Span:
        return Span(start, end, self.problems.source)

    def place(self, token: Token) -> Span:
        return Span(token.start, token.end, self.problems.source)

    def fail(
        self, message: str, token: Token, *, label: str = "", help: str = "", code: str = "G001"
    ) -> SyntaxProblem:
        """Report what is wrong at a token."""
        end = max(token.end, token.start + 1)
        self.problems.add(code, message, token.start, end, label=label, help=help)
        return SyntaxProblem()

    def group(self, op: Literal[" ", "|", "&"], items: Sequence[Node], span: Span) -> Node:
        return self.checked(Group(op, tuple(items), span, 1 + max([item.depth for item in items])))

    def checked(self, node: Group | Repetition | Prefix | Use) -> Node:
        """Return the node, or something empty if too much is nested in it, which is reported once a rule."""
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
    """Return a text without halves of characters, which are reported."""
    for bad in _SURROGATE.finditer(text):
        problems.add("G006", "half of a surrogate pair is not a character", bad.start(), bad.end())
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def read_json(
    text: str, at: int, directive: str, example: str, problems: Collector
) -> tuple[Any, int, int | None]:
    """Return the JSON value after a directive, and where it begins and ends; no end if it is none, which is reported."""
    blanks = _BLANKS.match(text, at)
    start = blanks.end() if blanks else at
    spend(20)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        place = error.pos if isinstance(error, json.JSONDecodeError) else start
        spend(place // 8)  # such an error counts the lines before it
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it nests too deeply"
        message = f"`{directive}` needs JSON: {reason}"
        problems.add("G020", message, place, place + 1, label="here", help=f"for example {example}")
        return None, start, None
    spend((end - start) // 16)
    return value, start, end


def read_ids(written: str) -> Iterator[tuple[str, int, int]]:
    """Yield the ranges of ids that commas separate, each as it is written; -1 for what is none."""
    for piece in written.split(","):
        spend(2)
        match = _ID_RANGE.fullmatch(piece)
        low = read_number(match[1]) if match else -1
        high = read_number(match[2]) if match and match[2] else low
        yield piece.strip(), low, high if high <= MAX_COUNT else -1


def comments_in(text: str, tokens: list[Token], comment: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the comments between tokens."""
    done = 0
    for token in tokens:
        yield from comment.finditer(text, done, token.start)
        done = token.end
