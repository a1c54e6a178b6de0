from typing import Any

MAX_WRITTEN: int

def is_plain_json(value: object, most: int) -> bool:
    """Tell whether a value, written out, has at most so many parts, all of them what ``json.loads`` makes.

    Cost: linear in these; no recursion.
    """

def is_larger(value: Any, most: int = ...) -> bool:
    """Tell whether a value, written out, has more than so many parts.

    Parts that it shares with itself count each time, and one that holds itself has no end.
    Cost: linear in the parts that there are; no recursion.
    """

def written_bytes(value: Any, most: int) -> int:
    """Return about how many bytes a value takes as JSON text; a number above ``most`` if it is more."""

def has_own_parts(value: dict[Any, Any], most: int, most_text: int) -> bool:
    """Tell whether a value is plain JSON, of so many parts and bytes of text at most, each part in one place.

    Cost: linear in the parts, up to these bounds.
    """
