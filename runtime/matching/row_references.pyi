from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stackmask.runtime.matching.matcher import Matcher

class MaskRows:
    """A mask: the union of some rows of a store, with some tokens flipped; or its words, if that is too long.

    ``source`` and ``epoch`` say of what numbering the ``rows`` are; a row keeps its content in an epoch. No
    rows and no tokens is the mask that allows nothing. ``words`` is None, or the bytes of the whole mask.
    """

    @property
    def source(self) -> Any: ...
    @property
    def epoch(self) -> int: ...
    @property
    def rows(self) -> tuple[int, ...]: ...
    @property
    def tokens(self) -> tuple[int, ...]: ...
    @property
    def words(self) -> bytes | None: ...
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

def fill_entries(
    matchers: Sequence[Matcher | None],
    slots: dict[Any, int],
    entries: npt.NDArray[np.int32],
    used_at: npt.NDArray[np.int64],
    step: int,
    max_rows: int = 4,
) -> list[int]:
    """Write the entries of matchers whose mask is one row that ``slots`` has; return the other numbers.

    ``slots`` maps (id of the store, epoch, row) to a row of the table; ``used_at`` takes the step of its last
    use. Entries are rows, then from ``max_rows`` on tokens, and hold -1 before. A matcher that is None has
    row 0.
    Cost: some look-ups a matcher; nothing of the mask is read.
    """
