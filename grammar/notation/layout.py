"""``stackmask fmt``: the layout of a grammar text. Only whitespace is rewritten, not tokens or comments.

A rule is on one line, or has one line for each alternative if its author wrote it so. Longer lines are broken
between alternatives, or else, in EBNF, between elements. The ``::=`` of adjacent rules are aligned, as are
the comments at the ends of adjacent lines. Formatting is idempotent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from stackmask.grammar.ir import SourceText
from stackmask.grammar.source.diagnostics import Collector, GrammarError, StackmaskError
from stackmask.grammar.source.work import spend

WIDTH: Final = 110
MAX_NAME: Final = 24  # longer names stand out of line
MAX_CODE: Final = 80  # comments at the ends of longer lines stand out of line
INDENT: Final = 4
MAX_DEPTH: Final = 30  # parentheses that are shown by blanks; the lines of deeper ones would be mostly blank
# the kinds of tokens; "head" and "directive" begin a statement, and "word" is any other
_ATTACHED: Final = frozenset({"suffix", "close", "call", "joint"})  # to what is before them
_ATTACHING: Final = frozenset({"prefix", "open", "call", "joint"})  # what is after them
_OPENING: Final = frozenset({"open", "call"})
_BEGINNING: Final = frozenset({"bar", "operator"})  # a line


class Syntax(NamedTuple):
    """The syntax of a notation. ``tokens``: kinds, texts, starts and ends; empty if there are errors.

    ``defines``: the token after the name of a rule. ``is_free``: whether a line may end anywhere in a rule.
    """

    tokens: Callable[[str, Collector], list[tuple[str, str, int, int]]]
    comment: re.Pattern[str]
    defines: str
    is_free: bool


class LayoutError(StackmaskError):
    """The layout of a text cannot be changed without a change of the text, which is a bug of this module."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A token, or a comment (``kind`` is "line" or "block").

    ``breaks``: the number of line breaks before it. ``depth``: the number of enclosing parentheses.
    """

    kind: str
    text: str
    breaks: int
    depth: int = 0

    @property
    def is_comment(self) -> bool:
        """Whether the piece is a comment."""
        return self.kind in ("line", "block")


@dataclass(slots=True)
class Statement:
    """A rule or a directive with its comments, or only comments, without a ``head``.

    ``head``: the name of a rule, or the directive. ``breaks``: the number of line breaks before it.
    """

    head: str
    is_rule: bool
    breaks: int
    pieces: list[Piece] = field(default_factory=list)


def read_statements(text: str, syntax: Syntax, name: str = "<grammar>") -> list[Statement]:
    """Parse a text into statements. Raises: GrammarError with all syntax errors. Cost: linear."""
    problems = Collector(0)
    tokens = syntax.tokens(text, problems)
    if problems.found:
        raise GrammarError(problems.found, [SourceText(name, text)])
    return _statements(list(_pieces(text, tokens, syntax.comment)))


def _pieces(text: str, tokens: list[tuple[str, str, int, int]], comment: re.Pattern[str]) -> Iterator[Piece]:
    """Yield tokens and comments, each with the number of line breaks before it."""
    done = depth = 0
    for kind, written, start, end in tokens:
        between, breaks = _comments(text, done, start, depth, comment)
        yield from between
        depth -= kind == "close"
        yield Piece(kind, written, breaks, depth)
        depth += kind in _OPENING
        done = end
        spend(4)
    yield from _comments(text, done, len(text), 0, comment)[0]


def _comments(
    text: str, start: int, end: int, depth: int, comment: re.Pattern[str]
) -> tuple[list[Piece], int]:
    """Return the comments between two tokens, and the number of line breaks after the last comment."""
    found = []
    done = start
    for match in comment.finditer(text, start, end):
        breaks = text.count("\n", done, match.start())
        kind = "block" if match[0].startswith("(*") else "line"
        written = "\n".join(line.rstrip() for line in match[0].split("\n"))
        found.append(Piece(kind, written, breaks, depth))
        done = match.end()
    return found, text.count("\n", done, end)


def _statements(pieces: list[Piece]) -> list[Statement]:
    found: list[Statement] = []
    goes_on = _goes_on(pieces)
    for at, piece in enumerate(pieces):
        if _is_head(piece):
            found.append(Statement(piece.text, piece.kind == "head", piece.breaks))
        elif piece.is_comment and (not found or _stands_alone(piece, goes_on[at], found[-1])):
            found.append(Statement("", False, piece.breaks, [piece]))
        else:
            found[-1].pieces.append(piece)
    return found


def _is_head(piece: Piece) -> bool:
    return piece.kind in ("head", "directive")


def _goes_on(pieces: list[Piece]) -> list[bool]:
    """Return for each piece whether another token of the same statement follows."""
    found = []
    goes_on = False
    for piece in reversed(pieces):
        found.append(goes_on)
        if not piece.is_comment:
            goes_on = not _is_head(piece)
    return found[::-1]


def _stands_alone(comment: Piece, goes_on: bool, before: Statement) -> bool:
    """Return whether a comment is on a separate line and not followed by a token of the same statement."""
    if comment.breaks == 0 and (before.head or before.pieces[-1].kind == "block"):
        return False
    return not before.head or not goes_on


def lay_out(text: str, syntax: Syntax, *, width: int = WIDTH, name: str = "<grammar>") -> str:
    """Return a formatted grammar text with the same tokens and comments, and so with the same meaning.

    Raises: GrammarError with all syntax errors. Cost: that of reading the text twice.
    """
    statements = read_statements(text, syntax, name)
    lines: list[tuple[str, str]] = []  # code, and the comment at its end
    column = 0
    for at, statement in enumerate(statements):
        if at and statement.breaks > 1:
            lines.append(("", ""))
        if not statement.head:
            lines += [(line, "") for line in _joined(statement.pieces).split("\n")]
            continue
        if statement.is_rule and syntax.is_free and not _is_neighbour(statements, at):
            column = _column(statements, at)
        prefix = statement.head
        if statement.is_rule:
            prefix = prefix.ljust(column) + syntax.defines
        lines += _statement_lines(prefix, statement.pieces, width, syntax.is_free)
    made = "".join(f"{line}\n" for line in _with_comments(lines))
    if _content(read_statements(made, syntax, name)) != _content(statements):
        raise LayoutError(f"{name} would change: please report it, with the text")
    return made


def _content(statements: list[Statement]) -> list[tuple[str, list[str]]]:
    """Return everything except whitespace."""
    found: list[tuple[str, list[str]]] = []
    for statement in statements:
        texts = [piece.text for piece in statement.pieces]
        if found and not statement.head and not found[-1][0]:
            found[-1][1].extend(texts)  # comments between statements, however they are grouped
        else:
            found.append((statement.head, texts))
    return found


def _is_neighbour(statements: list[Statement], at: int) -> bool:
    """Return whether a rule directly follows another one."""
    return at > 0 and statements[at - 1].is_rule and statements[at].breaks <= 1


def _column(statements: list[Statement], at: int) -> int:
    """Return the width of the longest name of a rule and its direct successors."""
    widest = 0
    end = at
    while end == at or (end < len(statements) and statements[end].is_rule and _is_neighbour(statements, end)):
        if len(statements[end].head) <= MAX_NAME:
            widest = max(widest, len(statements[end].head))
        end += 1
    return widest


def _statement_lines(prefix: str, pieces: list[Piece], width: int, is_free: bool) -> list[tuple[str, str]]:
    """Return the lines of a rule or a directive."""
    column = min(len(prefix), MAX_NAME + INDENT) + 1
    lines: list[tuple[str, str]] = []
    first = prefix  # what the first run goes on after
    for run in _runs(pieces):
        own = run[0].kind == "line" and not first
        comment = run.pop().text if run and run[-1].kind == "line" and not own else ""
        *codes, last = _filled(run, column, width, first, is_free) or [first]
        lines += [*((code, "") for code in codes), (last, comment)]
        first = ""
    return lines or [(prefix, "")]


def _runs(pieces: list[Piece]) -> list[list[Piece]]:
    """Split pieces where a line must end: after a line comment, around a comment on a separate line, and
    where the author began a line with an alternative.
    """
    runs: list[list[Piece]] = []
    ends = True  # whether a line ends before the next piece
    for piece in pieces:
        begins = piece.is_comment or (piece.kind == "bar" and piece.depth == 0)
        own_line = bool(runs) and begins and (piece.breaks > 0 or ends)
        if ends or own_line:
            runs.append([])
        runs[-1].append(piece)
        ends = piece.kind == "line" or (piece.kind == "block" and own_line)
    return runs


def _filled(run: list[Piece], column: int, width: int, first: str, is_free: bool) -> list[str]:
    """Return pieces as lines of at most ``width`` if possible; ``first``: the text already on the line."""
    lines: list[str] = []
    start = 0
    while start < len(run):
        indent = first if start == 0 and first else " " * _indent(run[start], column)
        end, used = start, len(indent) - indent.rfind("\n") - 1
        may_break = False
        while end < len(run):
            after = end > start and _blank_between(run[end - 1], run[end])
            blank = int(after or (end == start == 0 and bool(first)))
            begins, _, rest = run[end].text.partition("\n")
            may_break = may_break or (end > start and _is_place(run, end, is_free))
            if may_break and used + blank + len(begins) > width:
                break
            used = used + blank + len(begins) if not rest else len(rest.rpartition("\n")[2])
            end += 1
        if end < len(run):
            end = _best_break(run, start, end, is_free)
        body = _joined(run[start:end])
        joint = " " if start == 0 and first else ""
        lines.append(f"{indent}{joint}{body}")
        start = end
    return lines


def _is_place(run: list[Piece], at: int, is_free: bool) -> bool:
    """Return whether a line may begin with a piece: after whitespace, not with a comment, and not after an
    operator, which itself begins a line.
    """
    before, piece = run[at - 1], run[at]
    if not is_free and piece.kind != "bar":
        return False
    return _blank_between(before, piece) and not piece.is_comment and before.kind not in _BEGINNING


def _best_break(run: list[Piece], start: int, end: int, is_free: bool) -> int:
    """Return the best break before ``end``: at an alternative, or else an element, with minimal nesting."""
    places = [at for at in range(start + 1, end + 1) if _is_place(run, at, is_free)]
    bars = [at for at in places if run[at].kind == "bar"]
    outer = [at for at in bars if run[at].depth == 0]
    if outer:
        return outer[-1]
    # a break in the first half leaves a short line
    late = [at for at in places if at - start > (end - start) // 2] or places
    least = min(run[at].depth for at in late)
    return [at for at in late if run[at].depth == least][-1]


def _indent(piece: Piece, column: int) -> int:
    if piece.kind == "bar" and piece.depth == 0:
        return column - 2
    return column + 2 * min(piece.depth, MAX_DEPTH)


def _blank_between(before: Piece, after: Piece) -> bool:
    if before.is_comment or after.is_comment:
        return True
    return after.kind not in _ATTACHED and before.kind not in _ATTACHING


def _joined(pieces: list[Piece]) -> str:
    """Return pieces on one line, except for line breaks in them."""
    parts: list[str] = []
    for at, piece in enumerate(pieces):
        if at and _blank_between(pieces[at - 1], piece):
            parts.append(" ")
        parts.append(piece.text)
    return "".join(parts)


def _with_comments(lines: list[tuple[str, str]]) -> list[str]:
    """Return lines with their trailing comments, aligned on adjacent lines."""
    made: list[str] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end][1]:
            end += 1
        widths = [len(code.rpartition("\n")[2]) for code, _ in lines[at:end]]
        column = max((width for width in widths if width <= MAX_CODE), default=0)
        for (code, comment), width in zip(lines[at:end], widths, strict=True):
            made.append(f"{code}{' ' * max(column - width, 0)}  {comment}")
        if end == at:
            made.append(lines[at][0])
            end += 1
        at = end
    return made
