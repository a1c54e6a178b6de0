"""Similar names, for suggestions in messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stackmask.grammar.source.work import spend

MAX_LENGTH: Final = 80  # of names that are compared: it is quadratic in their length
MAX_NAMES: Final = 4_000


def similar(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name, or None. Long names and very long lists are not compared."""
    if len(name) > MAX_LENGTH:
        return None
    candidates = [other for other in names if len(other) <= MAX_LENGTH]
    if len(candidates) > MAX_NAMES:
        return None
    spend(20 + 2 * len(candidates))
    from difflib import get_close_matches  # only errors need it

    close = get_close_matches(name, candidates, 1)
    return close[0] if close else None


def advice(name: object, names: Iterable[str], other: str | None = None) -> str:
    """Return the suggestion for a name: the most similar name, else ``other``, by default all names."""
    close = similar(name, names) if isinstance(name, str) else None
    if close is None:
        return f"there are {', '.join(names) or 'none'}" if other is None else other
    return f"did you mean `{close}`?"
