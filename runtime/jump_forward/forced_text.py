"""What jump-forward and drafts ask of a grammar over a vocabulary."""

from __future__ import annotations

from typing import Final, Protocol

BRANCH: Final = 0  # what comes after forced text: a choice,
TOKEN: Final = 1  # one special token,
FINAL: Final = 2  # or nothing


class ForcedText(Protocol):
    """What a planner asks of a grammar over a vocabulary: ``ForcedRuns`` and ``FsmRuns`` answer it."""

    def run(self, place: int, /) -> tuple[bytes, int, int, int, int]:
        """Return (bytes, how many of them are whole characters, what follows, token, next place)."""

    def after(self, place: int, text: bytes, /) -> int:
        """Return the place after a text; 0 if it may not come."""

    def taken(self, place: int, text: bytes, /) -> tuple[int, int]:
        """Return (how many of the first bytes of a text may come, the place after them)."""

    def leads(self, place: int, most: int, /) -> list[int]:
        """Return the first bytes of what may come, in ascending order: at most ``most`` of them."""

    def crossings(self, text: bytes, place: int, most: int, /) -> list[tuple[int, tuple[int, ...]]]:
        """Return pairs (n, tokens): tokens that begin with the last n bytes of a text and may go on after it."""

    def is_free(self, text: bytes, place: int, /) -> bool:
        """Return whether no token can stand across a place inside a text."""
