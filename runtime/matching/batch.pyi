from collections.abc import Sequence
from typing import Protocol

from stackmask.runtime.matching.matcher import Bitmask, Matcher

class _FillsMasks(Protocol):
    """What a matcher of another engine must do, such as ``stackmask.fsm``'s."""

    def fill_next_token_bitmask(self, mask: Bitmask, row: int = 0) -> bool: ...

def fill_next_token_bitmask(
    matchers: Sequence[Matcher | _FillsMasks | None],
    mask: Bitmask,
    rows: Sequence[int] | None = None,
    *,
    threads: int = 1,
) -> bool:
    """Write the masks of a batch of matchers in one call.

    ``rows[i]`` is the row of matcher i, by default i. A matcher that is None allows every token. ``threads``:
    how many may copy finished masks, the calling one included; more than one is used where a batch has a
    megabyte for each (65 rows of 128,000 tokens). Masks that must be made are made in the calling thread.
    Shapes: mask int32 (batch, ceil(vocab / 32)), a NumPy array or a CPU torch tensor, contiguous.
    Returns: False when every row allows every token.
    Raises: MatcherError if a row does not fit; EmptyMaskError as one matcher's call does, once all are written. An error
        in making a mask has a note with the number of its matcher, and other rows may not be written then.
    Cost: the copy of a row for each mask that is finished; the lock of a compiler is held meanwhile.
    """
