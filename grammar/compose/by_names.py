"""What depends on the special tokens of a vocabulary, made once for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

Made = TypeVar("Made")
MAX_VOCABULARIES: Final = 16  # for which it is remembered


class ByNames(Generic[Made]):
    """How to make something for a vocabulary, by the names of its special tokens, and what was made."""

    def __init__(self, make: Callable[[frozenset[str]], Made]) -> None:
        self._make = make
        self._known: dict[frozenset[str], Made] = {}

    def of(self, names: frozenset[str], run: Callable[[Callable[[], Made]], Made]) -> Made:
        """Return what is made for these names; ``run`` calls what makes it. Raises: what that raises."""
        found = self._known.get(names)
        if found is None:
            found = run(lambda: self._make(names))
            if len(self._known) >= MAX_VOCABULARIES:
                self._known.clear()
            self._known[names] = found
        return found
