"""Mask work on the CPU during the forward pass.

The masks of a step depend on the token of the previous step, as does the forward pass: both can start
together. On a GPU, launches of the forward pass return immediately, so a loop that launches first and then
fills masks overlaps automatically. On a CPU, and where Python would wait, ``MaskWorker`` fills on a separate
thread: PyTorch releases the GIL during its operations, and the engine during copies of finished masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, final

from stackmask.runtime.kernels.errors import BitmaskError
from stackmask.runtime.matching.step import fill_next_token_bitmask

if TYPE_CHECKING:
    from stackmask.runtime.matching.matcher import Matcher


@final
class MaskWorker:
    """A thread that does the mask work of a step while the caller runs the forward pass.

    ``start`` passes the step's tokens; ``wait`` returns the result of the fill. Only one step at a time is
    possible: meanwhile, the matchers and the mask belong to the worker. Close it, or use ``with``.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="stackmask-masks")
        self._running: Future[Any] | None = None

    def start(
        self, matchers: Sequence[Matcher | None], mask: Any, tokens: Sequence[int] | None = None
    ) -> None:
        """Start to accept ``tokens`` (one per matcher; None at the first step) and to fill the mask.

        A terminated matcher keeps its place, and its row allows nothing. Raises: BitmaskError if the last step was not
        waited for, or if counts differ.
        """
        if tokens is not None and len(tokens) != len(matchers):
            raise BitmaskError(f"tokens has {len(tokens)} values, but there are {len(matchers)} matchers")
        # the caller may write the next step's tokens over these
        now = None if tokens is None else list(tokens)
        every = list(matchers)
        self.submit(lambda: _advance(every, mask, now))

    def submit(self, work: Callable[[], object]) -> None:
        """Start other mask work, such as computing the entries of a ``DeviceMaskTable``."""
        if self._running is not None:
            raise BitmaskError("the worker has 1 step under way, must have 0: wait for it first")
        self._running = self._pool.submit(work)

    def wait(self) -> Any:
        """Return the result of the work, or raise its error."""
        if self._running is None:
            raise BitmaskError("the worker has 0 steps under way, must have 1: start one first")
        running, self._running = self._running, None
        return running.result()

    def close(self) -> None:
        """End the thread after its current work."""
        self._pool.shutdown()

    def __enter__(self) -> MaskWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _advance(matchers: Sequence[Matcher | None], mask: Any, tokens: Sequence[int] | None) -> bool:
    if tokens is not None:
        for row, (matcher, token) in enumerate(zip(matchers, tokens, strict=True)):
            if matcher is not None and not matcher.is_terminated() and not matcher.accept_token(token):
                raise BitmaskError(f"tokens[{row}] is {token}, but the mask allows it not: {matcher.refusal}")
    return bool(fill_next_token_bitmask(matchers, mask))
