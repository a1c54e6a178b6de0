"""Settings of XGrammar that nothing here depends on: no depth of recursion is decided by a text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_depth = 10_000


def get_max_recursion_depth() -> int:
    """Return the number that was set last."""
    return _depth


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """Keep a number. Limits of this engine are those of ``stackmask.Limits``."""
    global _depth
    _depth = int(max_recursion_depth)


@contextmanager
def max_recursion_depth(temp_depth: int) -> Iterator[None]:
    """Keep a number for a while."""
    before = get_max_recursion_depth()
    set_max_recursion_depth(temp_depth)
    try:
        yield
    finally:
        set_max_recursion_depth(before)
