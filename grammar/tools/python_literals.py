"""Read the arguments of a call in Python: ``city="Rome", days=2``, with Python's literals as values."""

from __future__ import annotations

import ast
import re
from typing import Any, Final

from stackmask.grammar.tools.errors import TurnError

MAX_DEPTH: Final = 90  # of brackets in each other; Python's own parser reads at most 100
_BLANKS: Final = re.compile(r"[ \n\t\r]*")
_NAME: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*")
_NAME_CUT: Final = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*[ \t]*)?")
_STRING_CUT: Final = re.compile(r"(?:\"(?:[^\"\\\n]|\\[\s\S])*\\?|'(?:[^'\\\n]|\\[\s\S])*\\?)?")
_PIECE: Final = re.compile(
    r"(?P<string>\"(?:[^\"\\\n]|\\[\s\S])*\"|'(?:[^'\\\n]|\\[\s\S])*')|(?P<open>[\[{(])|(?P<close>[\])}])|(?P<comma>,)"
    r"|(?P<word>[A-Za-z]+)|[-+0-9.:eE_]+|[ \n\t\r]+"
)
_BAD_ESCAPE: Final = re.compile(r"(?:[^\\]|^)(?:\\\\)*\\(?![\\'\"abfnrtv0-7xuUN\n])")
_WORDS: Final = {"true": "True", "false": "False", "null": "None"}  # as some models write them
_KNOWN: Final = frozenset({"True", "False", "None", "e", "E"})


def read_python(text: str, at: int) -> tuple[dict[str, Any], int]:
    """Return the arguments that begin at a place, and where they end. Raises: TurnError.

    Cost: linear in the text.
    """
    found: dict[str, Any] = {}
    while True:
        start = _skip_blanks(text, at)
        name = _NAME.match(text, start)
        if name is None:
            return found, at
        found[name[1]], at = _value(text, name.end())
        comma = _skip_blanks(text, at)
        if not text.startswith(",", comma):
            return found, at
        at = comma + 1


def may_name_python(text: str, at: int) -> bool:
    """Return whether the text ends within the name of an argument that begins at a place."""
    return _NAME_CUT.fullmatch(text, at) is not None


def _value(text: str, at: int) -> tuple[Any, int]:
    """Return the literal that begins at a place, and where it ends."""
    pieces: list[str] = []
    depth = 0
    begin = at
    while match := _PIECE.match(text, at):
        kind = match.lastgroup
        piece = match[0]
        if depth == 0 and (kind == "comma" or kind == "close"):
            break
        depth += (kind == "open") - (kind == "close")
        if depth > MAX_DEPTH:
            raise TurnError(at, f"a value nests more than {MAX_DEPTH} deep")
        if kind == "word":
            piece = _WORDS.get(piece, piece)
            if piece not in _KNOWN:
                is_cut = match.end() == len(text) and any(
                    word.startswith(match[0]) for word in (*_WORDS, *_KNOWN)
                )
                raise TurnError(at, f"`{piece:.40}` is no literal of Python", is_cut)
        elif kind == "string" and _BAD_ESCAPE.search(piece):
            raise TurnError(at, "an escape that Python does not have")
        pieces.append(piece)
        at = match.end()
    is_cut = _STRING_CUT.fullmatch(text, at) is not None
    if depth:
        raise TurnError(at, "a bracket is needed", is_cut)
    try:
        return ast.literal_eval("".join(pieces).strip()), at
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        raise TurnError(begin, "no literal of Python", is_cut) from None


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at
