from typing import Any

from stackmask.runtime.matcher import Matcher

class MaskRows:
    """A mask: the union of some rows of a store, with some tokens flipped; or its words, if that is too long.

    ``source`` and ``epoch`` say of what numbering the ``rows`` are; a row keeps its content in an epoch. No
    rows and no tokens is the mask that allows nothing. ``words`` is None, or the bytes of the whole mask.
    """

    source: Any
    epoch: int
    rows: tuple[int, ...]
    tokens: tuple[int, ...]
    words: bytes | None
    def __init__(
        self,
        source: Any,
        epoch: int,
        rows: tuple[int, ...],
        tokens: tuple[int, ...],
        words: bytes | None = None,
    ) -> None: ...
    def is_empty(self) -> bool:
        """Tell whether nothing is allowed."""

def mask_rows(matcher: Matcher, max_rows: int = 4, max_tokens: int = 12) -> MaskRows:
    """Return the mask at the matcher's place as ``MaskRows`` of at most so many rows and tokens.

    Cost: where the engine has the row of the whole mask, a look-up; else that of filling it, and a pass over
    each row that it is put together from.
    """

def copy_row(matcher: Matcher, epoch: int, row: int, target: int) -> bool:
    """Copy a row of the matcher's store to the address ``target``; False if its epoch is over."""
