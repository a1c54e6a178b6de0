"""What reading one grammar file takes in either notation: nodes, JSON, ids of tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from stackmask.grammar.ir import EPSILON, Span, TokenTerminal
from stackmask.grammar.notation.tree import MAX_DEPTH, Group, Guarded, Node, Prefix, Repetition, Terminal, Use
from stackmask.grammar.regex.pattern.reader import MAX_COUNT, read_number
from stackmask.grammar.source.diagnostics import Collector
from stackmask.grammar.source.work import spend

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BLANKS: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()
_ID_RANGE: Final = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")


class TreeMaker:
    """Makes the nodes of one text, and reports where too much is nested."""

    def __init__(self, text: str, problems: Collector) -> None:
        self.text, self.problems = text, problems
        self.too_deep = False

    def span(self, start: int, end: int) -> Span:
        return Span(start, end, self.problems.source)

    def group(self, op: Literal[" ", "|", "&"], items: Sequence[Node], span: Span) -> Node:
        return self.checked(Group(op, tuple(items), span, 1 + max([item.depth for item in items])))

    def checked(self, node: Group | Repetition | Prefix | Use | Guarded) -> Node:
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
        spend(place // 500)  # such an error counts the lines before it
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it nests too deeply"
        message = f"`{directive}` needs JSON: {reason}"
        problems.add("G020", message, place, place + 1, label="here", help=f"for example {example}")
        return None, start, None
    spend((end - start) // 16)
    return value, start, end


def read_ids(written: str, span: Span, problems: Collector) -> TokenTerminal:
    """Return the tokens of ids and ranges that commas separate, or with `^` before them all others."""
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
