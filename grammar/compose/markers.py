"""Markers: strings of a format that a vocabulary may have as special tokens, which are never text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from stackmask.grammar.ir import Expr, Literal, TokenTerminal
from stackmask.grammar.ir.build import sequence
from stackmask.grammar.source.work import spend

_KNOWN_VOCABULARIES: Final = 64


class Markers:
    """The special tokens of a vocabulary by name; none where the vocabulary is not known yet."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = frozenset(names)
        self._pattern = _pattern(self.names)

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """Return the text in pieces, each with whether it is a special token. The leftmost, longest name counts."""
        spend(1 + len(text) // 16)
        if self._pattern is None or not text:
            return [(text, False)] if text else []
        found = []
        at = 0
        for match in self._pattern.finditer(text):
            if match.start() > at:
                found.append((text[at : match.start()], False))
            found.append((match[0], True))
            at = match.end()
        if at < len(text):
            found.append((text[at:], False))
        return found

    def holds(self, text: str) -> bool:
        """Return whether a special token is in the text: no ordinary text holds it then."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def expr(self, text: str) -> Expr:
        """Return what writes the text: special tokens as these, the rest as text."""
        return sequence(
            [
                TokenTerminal((piece,), (), False) if special else Literal(piece.encode())
                for piece, special in self.pieces(text)
            ]
        )

    def begin_with(self, text: str, trigger: str) -> int:
        """Return how many characters of the text the trigger takes: no special token is cut in two."""
        end = 0
        for piece, _special in self.pieces(text):
            if _special:
                end += len(piece)
            else:
                end = min(end + len(piece), max(end, len(trigger)))
            if end >= len(trigger):
                break
        return end


@lru_cache(_KNOWN_VOCABULARIES)
def _pattern(names: frozenset[str]) -> re.Pattern[str] | None:
    words = sorted((name for name in names if name), key=lambda name: (-len(name), name))
    return re.compile("|".join(map(re.escape, words))) if words else None
