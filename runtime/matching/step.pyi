from collections.abc import Sequence
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from stackmask.runtime.matching.matcher import Bitmask, Matcher

class _FillsMasks(Protocol):
    """The interface required of a matcher of another engine, such as that of ``stackmask.fsm``."""

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
    the number of threads that may copy finished masks, including the caller; more than one is used if a batch
    has a megabyte for each (65 rows of 128,000 tokens). Unfinished masks are computed in the calling thread.
    Shapes: mask int32 (batch, ceil(vocab / 32)), a NumPy array or a CPU torch tensor, contiguous.
    Returns: False if every row allows every token.
    Raises: MatcherError if a row does not fit; EmptyMaskError like the method of a single matcher, after all
        rows are written. An error in computing a mask has a note with the number of its matcher.
    Cost: a copy of the row for each finished mask, while the lock of the compiler is held.
    """

class _Follows(Protocol):
    """The interface required of a matcher of another engine, such as that of ``stackmask.fsm``."""

    def accept_token(self, token: int) -> bool: ...
    def fill_next_token_bitmask(self, mask: Bitmask, row: int = 0) -> bool: ...
    def find_jump_forward_bytes(self) -> tuple[bytes, bytes]: ...
    def is_terminated(self) -> bool: ...

@final
class StepMask:
    """The masks of steps. The content of rows is recorded, so that a step writes only changed words.

    Most masks differ in a few words from a row of the engine, or allow only a few tokens; if the previous
    mask was similar, only the differing words are written. Used by one thread at a time.
    Raises: MatcherError if ``batch`` or ``vocab_size`` is invalid.
    """

    def __new__(cls, batch: int, vocab_size: int) -> StepMask: ...
    @property
    def array(self) -> NDArray[np.int32]:
        """The masks, int32 (batch, ceil(vocab / 32)), read-only."""

    def row_to_write(self, row: int) -> NDArray[np.int32]:
        """Return a row for the caller to write; its recorded content is discarded."""

@final
class StepResult:
    """The results of a step for its requests, as lists with an entry for each matcher. See ``step``."""

    @property
    def accepted(self) -> list[bool]:
        """Whether the token was accepted; True if there was none. A refused token changes nothing."""

    @property
    def ended(self) -> list[bool]:
        """Whether the text has ended with a stop token. Nothing is allowed after it."""

    @property
    def only_tokens(self) -> list[int] | None:
        """The only allowed next token, or -1 if there are more or none; None if not requested."""

    @property
    def forced_bytes(self) -> list[bytes] | None:
        """The forced text, empty if there is none; None if not requested."""

    @property
    def errors(self) -> dict[int, Exception]:
        """The reason why a request cannot continue, by the number of its matcher. Its row allows nothing."""

    @property
    def waiting(self) -> list[int]:
        """The numbers of matchers whose masks need more work than ``Limits(max_fill_work=…)``: their rows allow nothing yet."""

    @property
    def needed(self) -> bool:
        """False if every row allows every token, so that the masks need not be applied."""

    @property
    def slow(self) -> int:
        """How many masks took more than a millisecond of work (100,000 units): first visits of a state."""

def step(
    matchers: Sequence[Matcher | _Follows | None],
    tokens: Sequence[int | None],
    mask: Bitmask | StepMask,
    rows: Sequence[int] | None = None,
    *,
    forced: bool = False,
    threads: int = 1,
) -> StepResult:
    """Do one step for many requests in one call: accept a token for each, then write the next masks.

    ``tokens[i]`` is the token of matcher i, or None if there is none to accept. ``rows[i]`` is its row, by
    default i; no row may occur twice. A matcher that is None allows every token, and its token is ignored.
    ``forced``: also find forced tokens and text. ``threads``: as in ``fill_next_token_bitmask``.
    Shapes: mask int32 (batch, ceil(vocab / 32)), a NumPy array or a CPU torch tensor, contiguous; or a
        ``StepMask``, in whose rows only changed words are written.
    Returns: a ``StepResult``; its masks and values equal those of separate calls.
    Raises: MatcherError if the arguments do not fit; then no matcher has advanced and no row is written.
        Errors of single matchers (a limit of the request, its cancellation, an action) are in ``errors``. If
        masks take more work than ``Limits(max_fill_work=…)``, those that are not ready are in ``waiting``:
        such a row allows nothing yet. The next step continues, with the longest waiting row first; pass None
        as its token.
    Cost: that of accepting and of ``fill_next_token_bitmask``; ``forced`` reads the masks again.
    """
