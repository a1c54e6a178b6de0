from collections.abc import Sequence
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

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

class _Follows(Protocol):
    """What a matcher of another engine must do, such as ``stackmask.fsm``'s."""

    def accept_token(self, token: int) -> bool: ...
    def fill_next_token_bitmask(self, mask: Bitmask, row: int = 0) -> bool: ...
    def find_jump_forward_bytes(self) -> tuple[bytes, bytes]: ...
    def is_terminated(self) -> bool: ...

@final
class StepMask:
    """The masks of steps: remembers what its rows hold, so that a step writes what has changed.

    Most masks differ in a few words from a row that the engine keeps, or allow a few tokens alone; where the mask before
    was like that, only those words are written. Used by one thread at a time.
    Raises: MatcherError if ``batch`` or ``vocab_size`` means nothing.
    """

    def __new__(cls, batch: int, vocab_size: int) -> StepMask: ...
    @property
    def array(self) -> NDArray[np.int32]:
        """The masks, int32 (batch, ceil(vocab / 32)), read-only."""

    def row_to_write(self, row: int) -> NDArray[np.int32]:
        """Return a row to be written by the caller; what was known of it is forgotten."""

@final
class StepResult:
    """What became of the requests of a step, a list entry for each matcher. See ``step``."""

    @property
    def accepted(self) -> list[bool]:
        """Whether the token was accepted; True where there was none. A refused token changes nothing."""

    @property
    def ended(self) -> list[bool]:
        """Whether the text has ended with a stop token. Nothing is allowed after that."""

    @property
    def only_tokens(self) -> list[int] | None:
        """The token that alone is allowed next, -1 where there are more or none; None if it was not asked for."""

    @property
    def forced_bytes(self) -> list[bytes] | None:
        """The text that must come next, empty where it may differ; None if it was not asked for."""

    @property
    def errors(self) -> dict[int, Exception]:
        """Why a request cannot go on, by the number of its matcher. Its row allows nothing."""

    @property
    def waiting(self) -> list[int]:
        """The numbers of matchers whose masks need more work than ``Limits(max_fill_work=…)``: their rows allow nothing yet."""

    @property
    def needed(self) -> bool:
        """False when every row allows every token, so that the masks need not be applied."""

def step(
    matchers: Sequence[Matcher | _Follows | None],
    tokens: Sequence[int | None],
    mask: Bitmask | StepMask,
    rows: Sequence[int] | None = None,
    *,
    forced: bool = False,
    threads: int = 1,
) -> StepResult:
    """Do a step of many requests in one call: accept a token for each, then write the masks of the next ones.

    ``tokens[i]`` is the token of matcher i, or None where there is none to accept. ``rows[i]`` is its row, by default i;
    no row twice. A matcher that is None allows every token, and its token is not looked at.
    ``forced``: also find what must come next. ``threads``: as in ``fill_next_token_bitmask``.
    Shapes: mask int32 (batch, ceil(vocab / 32)), a NumPy array or a CPU torch tensor, contiguous; or a ``StepMask``,
        in whose rows only what has changed is written.
    Returns: a ``StepResult``; its masks and values are those of one call after the other.
    Raises: MatcherError where the arguments do not fit; then no matcher has moved and no row is written. What fails for
        one matcher alone (a limit of its request, its cancellation, an action) is in ``errors``.
        Where masks take more work than ``Limits(max_fill_work=…)``, those that are not ready are in ``waiting``: such a row
        allows nothing yet. The next step goes on, with the longest waiting row first; its token is None then.
    Cost: that of accepting and of ``fill_next_token_bitmask``; ``forced`` reads the masks once more.
    """
