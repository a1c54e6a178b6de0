"""The interface between jump-forward and drafts, and a grammar over a vocabulary."""

from __future__ import annotations

from typing import Final, Protocol

BRANCH: Final = 0  # what comes after forced text: a choice,
TOKEN: Final = 1  # one special token,
FINAL: Final = 2  # or nothing


class ForcedText(Protocol):
    """The interface of a grammar over a vocabulary, which ``ForcedRuns`` and ``FsmRuns`` have. Places are states."""

    def run(self, place: int, /) -> tuple[bytes, int, int, int, int]:
        """Return (forced bytes, the number in complete characters, kind of end, token, next place)."""

    def after(self, place: int, text: bytes, /) -> int:
        """Return the place after a text; 0 if the text is not allowed."""

    def taken(self, place: int, text: bytes, /) -> tuple[int, int]:
        """Return (the number of leading bytes of a text that are allowed, the place after them)."""

    def leads(self, place: int, most: int, /) -> list[int]:
        """Return the bytes that may come next, in ascending order, at most ``most`` of them."""

    def crossings(self, text: bytes, place: int, most: int, /) -> list[tuple[int, tuple[int, ...]]]:
        """Return pairs (n, tokens): tokens that begin with the last n bytes of a text and may extend past it."""

    def is_free(self, text: bytes, place: int, /) -> bool:
        """Return whether no token can span a position inside a text."""
