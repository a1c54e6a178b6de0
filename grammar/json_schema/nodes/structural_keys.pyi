from typing import Any

class Contents:
    """The keys of the parts of one schema."""

    @property
    def size(self) -> int:
        """About how many characters the parts of the last key have."""

    @property
    def portable(self) -> bool:
        """Whether the last key holds nothing that belongs to this schema alone."""

    def key(self, schema: dict[str, Any], keywords: frozenset[str]) -> tuple[Any, ...] | None:
        """Return what the keywords say, or None for what no JSON text says.

        Cost: its parts, once each; no recursion.
        """

    def sketch(self, schema: dict[str, Any], keywords: frozenset[str]) -> tuple[Any, ...] | None:
        """Return the key where that is ``portable``; else what equal keys share, without what is below.

        Cost: the parts of the schema itself.
        """

class Shape:
    """Stands for equal lists or objects: equal to itself alone."""
