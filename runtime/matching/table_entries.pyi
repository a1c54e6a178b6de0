from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stackmask.runtime.matching.matcher import Matcher

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
