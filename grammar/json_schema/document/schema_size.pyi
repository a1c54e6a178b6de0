from typing import Any

MAX_WRITTEN: int

def is_larger(value: Any, most: int = ...) -> bool:
    """Tell whether a value, written out, has more than so many parts.

    Parts that it shares with itself count each time, and one that holds itself has no end.
    Cost: linear in the parts that there are; no recursion.
    """

def written_bytes(value: Any, most: int) -> int:
    """Return about how many bytes a value takes as JSON text; a number above ``most`` if it is more."""
