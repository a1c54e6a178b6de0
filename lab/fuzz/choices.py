"""Decisions read from the bytes of an input, so that a mutation of the input changes a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Reads decisions from bytes; after the end all decisions are 0."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def ended(self) -> bool:
        """Tell whether all bytes were read."""
        return self.at >= len(self.data)

    def byte(self) -> int:
        """Return the next byte."""
        if self.ended:
            return 0
        self.at += 1
        return self.data[self.at - 1]

    def below(self, bound: int) -> int:
        """Return a number from 0 to ``bound - 1``, of one byte or, for wider bounds, of two."""
        value = self.byte()
        if bound > 256:
            value = value << 8 | self.byte()
        return value % bound

    def pick(self, options: Sequence[T]) -> T:
        """Return one of some options."""
        return options[self.below(len(options))]

    def take(self, count: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        found = self.data[self.at : self.at + count]
        self.at += len(found)
        return found

    def remaining(self) -> bytes:
        """Return all bytes that were not read."""
        return self.take(len(self.data))
