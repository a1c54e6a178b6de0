"""A grammar text as it is written: its statements, each with its tokens and comments in order, nothing left out but blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from stackmask.grammar.ebnf.bodies import Body
from stackmask.grammar.ebnf.parser import lex_module
from stackmask.grammar.ebnf.syntax import Call
from stackmask.grammar.ir import SourceText
from stackmask.grammar.source.diagnostics import Collector, GrammarError
from stackmask.grammar.source.work import spend

DIRECTIVES: Final = frozenset({"_IMPORT", "_SKIP", "_LEXICAL", "_SYNTACTIC", "_STACK"})
_COMMENT: Final = re.compile(r"(?:#|//)[^\n]*|\(\*[\s\S]*?\*\)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A token, or a comment (``kind`` is "line" or "block").

    ``breaks``: line breaks before it. ``depth``: of parentheses around it.
    """

    kind: str
    text: str
    breaks: int
    depth: int = 0

    @property
    def is_comment(self) -> bool:
        """Whether it means nothing."""
        return self.kind in ("line", "block")


@dataclass(slots=True)
class Statement:
    """A rule or a directive with its comments; or comments alone, which have no ``head``.

    ``head``: the name of a rule, or the directive. ``breaks``: line breaks before it.
    """

    head: str
    is_rule: bool
    breaks: int
    pieces: list[Piece] = field(default_factory=list)


def read_statements(text: str, name: str = "<grammar>") -> list[Statement]:
    """Read a text into its statements. Raises: GrammarError with all that is wrong with its syntax. Cost: linear."""
    problems = Collector(0)
    tokens, bodies, calls = lex_module(text, problems)
    if problems.found:
        raise GrammarError(problems.found, [SourceText(name, text)])
    return _statements(list(_pieces(text, tokens, bodies, calls)))


def _pieces(text: str, tokens: list[Any], bodies: dict[int, Body], calls: dict[int, Call]) -> Iterator[Piece]:
    """Yield tokens, the JSON after directives and comments, with the line breaks before each; a macro is one token."""
    done = depth = 0
    for token in tokens:
        start: int = token.start_pos
        between, breaks = _comments(text, done, start, depth)
        yield from between
        if token.type == "RPAR":
            depth -= 1
        call = calls.get(start)
        end = token.end_pos if call is None else call.span.end
        yield Piece(token.type, text[start:end], breaks, depth)
        if token.type in ("LPAR", "LOOK"):
            depth += 1
        done = end
        body = bodies.get(start)
        if body is not None:
            yield Piece("BODY", body.text, 0, depth)
            done = body.start + len(body.text)
        spend(4)
    yield from _comments(text, done, len(text), 0)[0]


def _comments(text: str, start: int, end: int, depth: int) -> tuple[list[Piece], int]:
    """Return the comments between two tokens, and the line breaks after the last of them."""
    found = []
    done = start
    for match in _COMMENT.finditer(text, start, end):
        breaks = text.count("\n", done, match.start())
        kind = "block" if match[0].startswith("(*") else "line"
        comment = "\n".join(line.rstrip() for line in match[0].split("\n"))
        found.append(Piece(kind, comment, breaks, depth))
        done = match.end()
    return found, text.count("\n", done, end)


def _statements(pieces: list[Piece]) -> list[Statement]:
    found: list[Statement] = []
    goes_on = _goes_on(pieces)
    for at, piece in enumerate(pieces):
        if _is_head(piece):
            found.append(Statement(piece.text, piece.kind == "HEAD", piece.breaks))
        elif piece.kind == "_DEFINES":
            pass
        elif piece.is_comment and (not found or _stands_alone(piece, goes_on[at], found[-1])):
            found.append(Statement("", False, piece.breaks, [piece]))
        else:
            found[-1].pieces.append(piece)
    return found


def _is_head(piece: Piece) -> bool:
    return piece.kind == "HEAD" or piece.kind in DIRECTIVES


def _goes_on(pieces: list[Piece]) -> list[bool]:
    """Return for each piece whether a token of the same statement comes after it."""
    found = []
    goes_on = False
    for piece in reversed(pieces):
        found.append(goes_on)
        if not piece.is_comment:
            goes_on = not _is_head(piece)
    return found[::-1]


def _stands_alone(comment: Piece, goes_on: bool, before: Statement) -> bool:
    """Return whether a comment is between statements: on a line of its own, and no token of the same statement follows."""
    if comment.breaks == 0 and (before.head or before.pieces[-1].kind == "block"):
        return False
    return not before.head or not goes_on
